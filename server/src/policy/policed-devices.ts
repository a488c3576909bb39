import type { Tx } from '../db/database.ts';
import { AppError } from '../kernel/app-error.ts';
import { hasRole, type OrgScope, type Principal } from '../kernel/call.ts';
import { type DevicesOf, listPolicedDevices, type PolicedDevice } from './policed-devices.store.ts';

type Place = Pick<OrgScope, 'id' | 'path'>;

/**
 * A device takes its policies along, to other hardware or out of the world. So whoever could not take them away does
 * neither: the hardware would be free. The transaction sees the whole path.
 */
export async function requirePolicyRights(
  tx: Tx,
  principal: Principal,
  org: Place,
  of: DevicesOf,
): Promise<void> {
  const devices = await listPolicedDevices(tx, org, of);
  if (devices.length === 0) return;
  if (!hasRole(principal, org, 'policies:manage'))
    throw new AppError('forbidden', 'the device has policies: this needs the role policies:manage');
  if (!devices.every((device) => answersFor(principal, org, device)))
    throw new AppError('forbidden', 'the device has policies, and those belong to its steward');
}

/** An administrator of where the stewardship is held could end it first. */
function answersFor(principal: Principal, org: Place, { steward }: PolicedDevice): boolean {
  if (steward === null || steward.userId === principal.userId) return true;
  return isAdministratorAt(principal, org, steward.orgId);
}

/** Of the organization itself or one above it. One of an organization below is none there. */
export function isAdministratorAt(principal: Principal, { path }: Place, orgId: string): boolean {
  return hasRole(principal, { id: orgId, path: path.slice(0, path.indexOf(orgId) + 1) }, 'admin');
}
