import type { PutHoldRequest } from '@lintel/contract/holds';
import { originOf, recordEvent } from '../../audit/audit.store.ts';
import type { Database, Tx } from '../../db/database.ts';
import { isSwitchable } from '../../engine/action.rules.ts';
import { AppError, invalid, notFound } from '../../kernel/app-error.ts';
import { type Call, entityLimit, type OrgScope, principalOf } from '../../kernel/call.ts';
import type { Clock } from '../../kernel/clock.ts';
import { requireUnlimited } from '../../kernel/resource-input.ts';
import { ulid } from '../../kernel/ulid.ts';
import type { Hold } from '../../policy/hold-rules.ts';
import { parseHold } from './holds.rules.ts';
import {
  deleteHold,
  type HoldTarget,
  insertHold,
  listHoldsOfDevice,
  lockDeviceTarget,
  lockEntityTarget,
} from './holds.store.ts';

export interface HoldsDeps {
  readonly db: Database;
  readonly clock: Clock;
}

/** What was asked about, and the hold there is. */
export interface Held {
  readonly target: HoldTarget;
  readonly hold: Hold | null;
}

export interface HoldsService {
  ofEntity(call: Call, org: OrgScope, id: string): Promise<Held>;
  ofDevice(call: Call, org: OrgScope, id: string): Promise<Held>;
  setOnEntity(call: Call, org: OrgScope, id: string, input: PutHoldRequest): Promise<Held>;
  setOnDevice(call: Call, org: OrgScope, id: string, input: PutHoldRequest): Promise<Held>;
}

export function createHoldsService(deps: HoldsDeps): HoldsService {
  const { db } = deps;
  return {
    ofEntity: (call, org, id) =>
      db.inOrg(org.id, async (tx) => find(tx, deps, org, await entityTarget(tx, call, org, id))),
    ofDevice: (call, org, id) =>
      db.inOrg(org.id, async (tx) => find(tx, deps, org, await deviceTarget(tx, call, org, id))),
    setOnEntity: (call, org, id, input) =>
      db.inOrg(org.id, async (tx) => {
        const target = await entityTarget(tx, call, org, id);
        if (target.entityType === null || !isSwitchable(target.entityType))
          throw invalid('/id', 'this entity can not be opened');
        return await set(tx, deps, call, org, target, input);
      }),
    setOnDevice: (call, org, id, input) =>
      db.inOrg(org.id, async (tx) => {
        requireUnlimited(principalOf(call));
        return await set(tx, deps, call, org, await deviceTarget(tx, call, org, id), input);
      }),
  };
}

async function entityTarget(tx: Tx, call: Call, org: OrgScope, id: string): Promise<HoldTarget> {
  const limitedTo = entityLimit(principalOf(call));
  const target = limitedTo?.includes(id) === false ? null : await lockEntityTarget(tx, org.id, id);
  if (target === null) throw notFound();
  return target;
}

async function deviceTarget(tx: Tx, call: Call, org: OrgScope, id: string): Promise<HoldTarget> {
  const target = await lockDeviceTarget(tx, org.id, id, entityLimit(principalOf(call)));
  if (target === null) throw notFound();
  return target;
}

/** For an entity also the one of its device. */
async function find(tx: Tx, { clock }: HoldsDeps, org: OrgScope, target: HoldTarget): Promise<Held> {
  const holds = await listHoldsOfDevice(tx, org.id, target.deviceId, clock.now());
  const hold =
    holds.find(({ entityId }) => entityId === target.entityId) ??
    holds.find(({ entityId }) => entityId === null) ??
    null;
  return { target, hold };
}

async function set(
  tx: Tx,
  { clock }: HoldsDeps,
  call: Call,
  org: OrgScope,
  target: HoldTarget,
  input: PutHoldRequest,
): Promise<Held> {
  const terms = parseHold(input, clock.now());
  if (terms !== null) await refuseConflict(tx, org, target, clock.now());
  await deleteHold(tx, org.id, target);
  const { deviceId, entityId } = target;
  // A new id for every change: what was opened for the old one is no window of the new one.
  const hold = terms === null ? null : { ...terms, id: ulid(), orgId: org.id, deviceId, entityId };
  if (hold !== null) await insertHold(tx, hold, principalOf(call).userId);
  await record(tx, call, org, target, hold);
  return { target, hold };
}

async function refuseConflict(tx: Tx, org: OrgScope, target: HoldTarget, now: Date): Promise<void> {
  const holds = await listHoldsOfDevice(tx, org.id, target.deviceId, now);
  const other = holds.find(({ entityId }) => (entityId === null) !== (target.entityId === null));
  if (other === undefined) return;
  const where = other.entityId === null ? 'the device' : `the entity ${other.entityId}`;
  throw new AppError('hold_conflict', `${where} has the hold ${other.id} (${other.mode})`);
}

async function record(
  tx: Tx,
  call: Call,
  org: OrgScope,
  { deviceId, entityId, name }: HoldTarget,
  hold: Hold | null,
): Promise<void> {
  await recordEvent(tx, originOf(call), {
    orgId: org.id,
    type: entityId === null ? 'device.hold_changed' : 'entity.hold_changed',
    resource: entityId === null ? { type: 'device', id: deviceId } : { type: 'entity', id: entityId, name },
    details: {
      device_id: deviceId,
      mode: hold?.mode ?? 'normal',
      hold_id: hold?.id ?? null,
      kind: hold?.kind ?? null,
      until: hold?.until ?? null,
      recurrence: hold?.recurrence ?? null,
      reason: hold?.reason ?? null,
      include_lights: hold?.includeLights ?? false,
    },
  });
}
