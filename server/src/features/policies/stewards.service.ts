import { originOf, recordEvent } from '../../audit/audit.store.ts';
import type { Database, Tx } from '../../db/database.ts';
import { AppError, notFound } from '../../kernel/app-error.ts';
import { type Call, type OrgScope, principalOf } from '../../kernel/call.ts';
import { isAdministratorAt } from '../../policy/policed-devices.ts';
import {
  type DevicePlace,
  findPhysicalDevice,
  lockPhysicalDevice,
  type PhysicalDevice,
  releaseDevice,
} from './physical-devices.store.ts';

export interface StewardsService {
  status(org: OrgScope, place: DevicePlace): Promise<PhysicalDevice>;
  release(call: Call, org: OrgScope, place: DevicePlace): Promise<void>;
}

export function createStewardsService({ db }: { readonly db: Database }): StewardsService {
  return {
    status: (org, place) =>
      db.inOrg(org.path, async (tx) => required(await findPhysicalDevice(tx, org, place))),
    release: (call, org, place) => db.inOrg(org.path, (tx) => release(tx, call, org, place)),
  };
}

async function release(tx: Tx, call: Call, org: OrgScope, place: DevicePlace): Promise<void> {
  const device = required(await lockPhysicalDevice(tx, org, place));
  requireMayRelease(call, org, device);
  const orgId = device.steward?.orgId ?? org.id;
  await releaseDevice(tx, orgId, device, place.deviceId);
  await recordEvent(tx, originOf(call), {
    orgId,
    type: 'device.steward_released',
    resource: { type: 'device', id: place.deviceId },
    details: { integration_id: place.integrationId, steward_user_id: device.steward?.userId ?? null },
  });
}

function required(device: PhysicalDevice | null): PhysicalDevice {
  if (device === null) throw notFound();
  return device;
}

/** An administrator of where it is held: one of an organization below does not end it. */
function requireMayRelease(call: Call, org: OrgScope, { steward }: PhysicalDevice): void {
  const principal = principalOf(call);
  if (isAdministratorAt(principal, org, steward?.orgId ?? org.id)) return;
  if (steward?.userId !== principal.userId)
    throw new AppError('forbidden', 'only the steward or an administrator can end a stewardship');
}
