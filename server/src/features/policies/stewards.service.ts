import { originOf, recordEvent } from '../../audit/audit.store.ts';
import type { Database, Tx } from '../../db/database.ts';
import { AppError, notFound } from '../../kernel/app-error.ts';
import { type Call, hasRole, type OrgScope, principalOf } from '../../kernel/call.ts';
import { lockDevice, releaseDevice, type StewardedDevice } from './policies.store.ts';

export interface StewardsService {
  status(org: OrgScope, integrationId: string, deviceId: string): Promise<StewardedDevice>;
  release(call: Call, org: OrgScope, integrationId: string, deviceId: string): Promise<void>;
}

export function createStewardsService({ db }: { readonly db: Database }): StewardsService {
  return {
    status: (org, integrationId, deviceId) =>
      db.inOrg(org.id, (tx) => requireDevice(tx, org, integrationId, deviceId)),
    release: (call, org, integrationId, deviceId) =>
      db.inOrg(org.id, async (tx) => {
        const device = await requireDevice(tx, org, integrationId, deviceId);
        requireMayRelease(call, org, device);
        await releaseDevice(tx, org.id, deviceId);
        await recordEvent(tx, originOf(call), {
          orgId: org.id,
          type: 'device.steward_released',
          resource: { type: 'device', id: deviceId },
          details: { integration_id: integrationId, steward_user_id: device.stewardUserId },
        });
      }),
  };
}

async function requireDevice(
  tx: Tx,
  org: OrgScope,
  integrationId: string,
  deviceId: string,
): Promise<StewardedDevice> {
  const device = await lockDevice(tx, { orgId: org.id, integrationId, deviceId });
  if (device === null) throw notFound();
  return device;
}

function requireMayRelease(call: Call, org: OrgScope, { stewardUserId }: StewardedDevice): void {
  const principal = principalOf(call);
  if (hasRole(principal, org, 'admin')) return;
  if (stewardUserId === null || stewardUserId !== principal.userId)
    throw new AppError('forbidden', 'only the steward or an administrator can end a stewardship');
}
