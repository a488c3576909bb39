import type { PutHoldRequest } from '@lintel/contract/holds';
import { originOf, recordEvent } from '../../audit/audit.store.ts';
import type { Tx } from '../../db/database.ts';
import { isSwitchable } from '../../engine/action.rules.ts';
import { AppError, invalid, notFound } from '../../kernel/app-error.ts';
import { type Call, entityLimit, type OrgScope, principalOf } from '../../kernel/call.ts';
import { requireUnlimited } from '../../kernel/resource-input.ts';
import { StaleDecision } from '../../kernel/stale-decision.ts';
import { ulid } from '../../kernel/ulid.ts';
import { type Hold, reaches } from '../../policy/hold-rules.ts';
import { type Opening, type PermissionDeps, requirePermission } from './hold-permission.ts';
import { type HoldTerms, parseHold } from './holds.rules.ts';
import {
  deleteHold,
  findHoldOfHardware,
  type HoldTarget,
  insertHold,
  listHoldsOfDevice,
  listOpenable,
  lockDeviceTarget,
  lockEntityTarget,
  lockEpoch,
  spendConfirmation,
} from './holds.store.ts';

export type HoldsDeps = PermissionDeps;

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
      set(deps, call, org, input, (tx) => openableTarget(tx, call, org, id)),
    setOnDevice: (call, org, id, input) =>
      set(deps, call, org, input, async (tx) => {
        requireUnlimited(principalOf(call));
        return await deviceTarget(tx, call, org, id);
      }),
  };
}

async function openableTarget(tx: Tx, call: Call, org: OrgScope, id: string): Promise<HoldTarget> {
  const target = await entityTarget(tx, call, org, id);
  if (target.entityType === null || !isSwitchable(target.entityType))
    throw invalid('/id', 'this entity can not be opened');
  return target;
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

/** For an entity also the one of its device; for both also what keeps the hardware closed. */
async function find(tx: Tx, { clock }: HoldsDeps, org: OrgScope, target: HoldTarget): Promise<Held> {
  const holds = await listHoldsOfDevice(tx, org.id, target.deviceId, clock.now());
  const hold =
    holds.find(({ entityId }) => entityId === target.entityId) ??
    holds.find(({ entityId }) => entityId === null) ??
    (await findHoldOfHardware(tx, org.id, target.deviceId, clock.now()));
  return { target, hold };
}

type FindTarget = (tx: Tx) => Promise<HoldTarget>;

/** Permission is asked for before the transaction that sets the hold, and only holds under the same epoch. */
async function set(
  deps: HoldsDeps,
  call: Call,
  org: OrgScope,
  input: PutHoldRequest,
  find: FindTarget,
): Promise<Held> {
  const opening = input.mode === 'hold_open' ? await openingOf(deps, org, input, find) : null;
  const proof = opening && (await requirePermission(deps, call, org, opening));
  return await deps.db.inOrg(org.id, async (tx) => {
    const target = await find(tx);
    const terms = parseHold(input, deps.clock.now());
    if (terms !== null)
      requireFree(await listHoldsOfDevice(tx, org.id, target.deviceId, deps.clock.now()), target);
    if (opening !== null && (await lockEpoch(tx, org.id)) !== org.epoch) throw new StaleDecision();
    if (proof !== null && !(await spendConfirmation(tx, org.id, proof)))
      throw new AppError('confirmation_invalid', 'the confirmation is not valid for this request');
    return await replace(tx, call, org, target, terms, proof !== null);
  });
}

async function openingOf(
  { db, clock }: HoldsDeps,
  org: OrgScope,
  input: PutHoldRequest,
  find: FindTarget,
): Promise<Opening> {
  return await db.inOrg(org.id, async (tx) => {
    const target = await find(tx);
    const { entityId } = target;
    const includeLights = parseHold(input, clock.now())?.includeLights ?? false;
    const holds = await listHoldsOfDevice(tx, org.id, target.deviceId, clock.now());
    requireFree(holds, target);
    const openable = await listOpenable(tx, org.id, target.deviceId);
    const reached = openable.filter((place) => reaches({ entityId, includeLights }, place));
    return {
      target,
      entityIds: reached.map((place) => place.entityId),
      replaced: holds.find((hold) => hold.entityId === entityId)?.id ?? null,
      input,
    };
  });
}

async function replace(
  tx: Tx,
  call: Call,
  org: OrgScope,
  target: HoldTarget,
  terms: HoldTerms | null,
  confirmed: boolean,
): Promise<Held> {
  await deleteHold(tx, org.id, target);
  const { deviceId, entityId } = target;
  // A new id for every change: what was opened for the old one is no window of the new one.
  const hold = terms === null ? null : { ...terms, id: ulid(), orgId: org.id, deviceId, entityId };
  const principal = principalOf(call);
  const keyId = principal.kind === 'user' ? null : principal.keyId;
  if (hold !== null) await insertHold(tx, hold, { userId: principal.userId, keyId, confirmed });
  await record(tx, call, org, target, hold);
  return { target, hold };
}

function requireFree(holds: readonly Hold[], target: HoldTarget): void {
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
