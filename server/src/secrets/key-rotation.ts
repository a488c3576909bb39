// Rotations are driven by what is stored, batch by batch, each in a transaction of its own: whoever is killed in the
// middle leaves everything readable, and the next call goes on from there.
import type { Database, Tx } from '../db/database.ts';
import {
  countKeys,
  deleteRetiredKeys,
  insertActiveKey,
  insertKid,
  listKids,
  listOrgsWithKeys,
  lockKeysOf,
  lockKeysUnderOthers,
  retireActiveKey,
  takeActiveKey,
  updateWrapping,
} from './data-keys.store.ts';
import { newDataKey, openDataKey, rewrap, SecretUnreadable, sealValue, unsealValue } from './envelope.ts';
import type { Keyring } from './keyring.ts';
import {
  keyOf,
  listValues,
  lockRetiringValues,
  type SealedValue,
  updateValue,
} from './secret-values.store.ts';

export interface RotationDeps {
  readonly db: Database;
  readonly keyring: Keyring;
  /** How many rows one transaction takes. */
  readonly batch?: number;
  /** Called when the secrets of an organization are under a new data key. */
  readonly onRotated?: (orgId: string, reencrypted: number) => Promise<void>;
}

export interface Verification {
  /** Key encryption key → data keys it wraps. */
  readonly dataKeysByKid: Readonly<Record<string, number>>;
  readonly readable: number;
  readonly unreadable: readonly { orgId: string; integrationId: string; field: string }[];
}

const defaultBatch = 500;

export async function rotateKek({ db, keyring, batch = defaultBatch }: RotationDeps) {
  let rewrapped = 0;
  await db.asService((tx) => insertKid(tx, keyring.currentKid));
  for (;;) {
    // As the service: a key encryption key is everybody's.
    const done = await db.asService(async (tx) => {
      const keys = await lockKeysUnderOthers(tx, keyring.currentKid, batch);
      for (const key of keys) await updateWrapping(tx, rewrap(keyring, key));
      return keys.length;
    });
    if (done === 0) return { rewrapped };
    rewrapped += done;
  }
}

export async function rotateDek(deps: RotationDeps, orgId: string) {
  const { db, batch = defaultBatch } = deps;
  if (!(await db.inOrg(orgId, (tx) => beginRotation(deps, tx, orgId)))) return { reencrypted: 0 };
  let reencrypted = 0;
  for (;;) {
    const done = await db.inOrg(orgId, (tx) => reencryptSome(deps, tx, orgId, batch));
    if (done === 0) break;
    reencrypted += done;
  }
  await db.inOrg(orgId, (tx) => deleteRetiredKeys(tx, orgId));
  await deps.onRotated?.(orgId, reencrypted);
  return { reencrypted };
}

/** Every organization that has a data key, one after the other. */
export async function rotateDeks(deps: RotationDeps) {
  // As the service: only the names of the organizations are read across them.
  const orgIds = await deps.db.asService(listOrgsWithKeys);
  let reencrypted = 0;
  for (const orgId of orgIds) reencrypted += (await rotateDek(deps, orgId)).reencrypted;
  return { orgs: orgIds.length, reencrypted };
}

/** False when there is nothing to rotate. One that was interrupted is finished first. */
async function beginRotation({ keyring }: RotationDeps, tx: Tx, orgId: string): Promise<boolean> {
  await lockKeysOf(tx, orgId);
  const { active, retiring } = await countKeys(tx, orgId);
  if (retiring > 0 || active === 0) return retiring > 0;
  await retireActiveKey(tx, orgId);
  await insertActiveKey(tx, newDataKey(keyring, orgId));
  return true;
}

async function reencryptSome(
  { keyring }: RotationDeps,
  tx: Tx,
  orgId: string,
  batch: number,
): Promise<number> {
  const values = await lockRetiringValues(tx, orgId, batch);
  if (values.length === 0) return 0;
  const active = await takeActiveKey(tx, orgId, values.length);
  if (active === null) throw new Error('an organization needs an active data key');
  const key = openDataKey(keyring, active);
  for (const value of values) {
    const plain = unsealValue(openDataKey(keyring, keyOf(value)), value, value.ciphertext);
    await updateValue(tx, value, active.id, sealValue(key, value, plain));
  }
  return values.length;
}

export async function verify(deps: RotationDeps): Promise<Verification> {
  const { db, keyring, batch = defaultBatch } = deps;
  const known = [...keyring.keys.keys()].map((kid) => [kid, 0] as const);
  // As the service: everything is read, and nothing of it is shown.
  const kids = await db.asService(listKids);
  const dataKeysByKid = Object.fromEntries([...known, ...kids.map((each) => [each.kid, each.dataKeys])]);
  const unreadable: SealedValue[] = [];
  let readable = 0;
  let after = { orgId: '', integrationId: '', field: '' };
  for (;;) {
    const values = await db.asService((tx) => listValues(tx, after, batch));
    const broken = values.filter((value) => !isReadable(keyring, value));
    unreadable.push(...broken);
    readable += values.length - broken.length;
    const last = values.at(-1);
    if (last === undefined) break;
    after = last;
  }
  const places = unreadable.map(({ orgId, integrationId, field }) => ({ orgId, integrationId, field }));
  return { dataKeysByKid, readable, unreadable: places };
}

function isReadable(keyring: Keyring, value: SealedValue): boolean {
  try {
    unsealValue(openDataKey(keyring, keyOf(value)), value, value.ciphertext);
    return true;
  } catch (error) {
    if (error instanceof SecretUnreadable) return false;
    throw error;
  }
}
