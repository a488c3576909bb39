import type { Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { OrgScope } from '../kernel/call.ts';

/** A device that has policies of its own. */
export interface PolicedDevice {
  readonly steward: { readonly orgId: string; readonly userId: string } | null;
}

/** One device, or all of an integration. */
export type DevicesOf = { readonly deviceId: string } | { readonly integrationId: string };

/**
 * Deleted ones too: their policies bind as long as they can be restored. The steward is that of the topmost live device
 * that is the same one, or the one the device itself was claimed by.
 */
export function listPolicedDevices(
  tx: Tx,
  { id, path }: Pick<OrgScope, 'id' | 'path'>,
  of: DevicesOf,
): Promise<PolicedDevice[]> {
  const which = 'deviceId' in of ? sql`d.id = ${of.deviceId}` : sql`d.integration_id = ${of.integrationId}`;
  return tx.query<PolicedDevice>(sql`
    select case when s.user_id is not null
      then jsonb_build_object('orgId', s.org_id, 'userId', s.user_id) end as steward
    from devices d left join lateral (
      select s.org_id, s.user_id
      from devices same join device_stewards s on s.org_id = same.org_id and s.device_id = same.id
      where same.org_id = any (${path}) and (
        (same.org_id = d.org_id and same.id = d.id)
        or (same.hardware_id = d.hardware_id and same.deleted_at is null))
      order by array_position(${path}::text[], same.org_id), same.id limit 1) s on true
    where d.org_id = ${id} and ${which}
      and exists (select from policies p where p.org_id = d.org_id and p.device_id = d.id)`);
}
