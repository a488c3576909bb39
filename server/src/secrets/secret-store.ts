import type { KeyObject } from 'node:crypto';
import type { Database, Tx } from '../db/database.ts';
import { Secret } from '../kernel/secret.ts';
import { hasActiveKey, insertActiveKey, lockKeysOf, takeActiveKey } from './data-keys.store.ts';
import { newDataKey, openDataKey, sealValue, unsealValue, type WrappedKey } from './envelope.ts';
import { type RotationDeps, rotateDek, rotateKek, type Verification, verify } from './key-rotation.ts';
import {
  asSecretsRole,
  deleteValues,
  deleteVersion,
  findValues,
  findVersion,
  insertValue,
  keyOf,
  nextVersion,
  overwriteValues,
  type SealedValue,
} from './secret-values.store.ts';

export type Secrets = Readonly<Record<string, Secret>>;

export interface VersionedSecrets {
  /** 0 where there never was a secret; grows with every change. */
  readonly version: number;
  readonly values: Secrets;
}

/**
 * Secrets of integrations, encrypted under a key of their organization. What changes them, and what reads them for a
 * caller, works inside the transaction of the integration it belongs to.
 */
export interface SecretStore {
  read(orgId: string, integrationId: string): Promise<VersionedSecrets>;
  readIn(tx: Tx, orgId: string, integrationId: string): Promise<Secrets>;
  /** All of them at once: fields that are not named are gone. */
  replace(tx: Tx, orgId: string, integrationId: string, values: Secrets): Promise<void>;
  clear(tx: Tx, orgId: string, integrationId: string): Promise<void>;
  /** Overwritten, then deleted, with every trace that there were some. */
  purge(tx: Tx, orgId: string, integrationId: string): Promise<void>;
  /** Takes the first key of the keyring into use and wraps every data key under it; goes on where one was interrupted. */
  rotateKek(): Promise<{ rewrapped: number }>;
  /** Encrypts everything of the organization under a new data key. Goes on where an interrupted one ended. */
  rotateDek(orgId: string): Promise<{ reencrypted: number }>;
  /** Reads everything there is. A key encryption key with 0 data keys may leave the keyring. */
  verify(): Promise<Verification>;
}

export interface SecretStoreDeps extends RotationDeps {
  /** Works under the role lintel_secrets. */
  readonly db: Database;
}

export function createSecretStore(deps: SecretStoreDeps): SecretStore {
  const { db } = deps;
  return {
    read: (orgId, id) =>
      db.inOrg(orgId, async (tx) => ({
        // First, so that a change in between is seen again under its own version.
        version: await findVersion(tx, orgId, id),
        values: await readSecrets(deps, tx, orgId, id),
      })),
    readIn: (tx, orgId, id) => asSecretsRole(tx, () => readSecrets(deps, tx, orgId, id)),
    replace: (tx, orgId, id, values) => asSecretsRole(tx, () => replace(deps, tx, orgId, id, values)),
    clear: (tx, orgId, id) => asSecretsRole(tx, () => replace(deps, tx, orgId, id, {})),
    purge: (tx, orgId, id) => asSecretsRole(tx, () => purge(tx, orgId, id)),
    rotateKek: () => rotateKek(deps),
    rotateDek: (orgId) => rotateDek(deps, orgId),
    verify: () => verify(deps),
  };
}

async function readSecrets(
  { keyring }: SecretStoreDeps,
  tx: Tx,
  orgId: string,
  integrationId: string,
): Promise<Secrets> {
  const sealed = await findValues(tx, orgId, integrationId);
  const keys = new Map<string, KeyObject>();
  const keyFor = (value: SealedValue): KeyObject => {
    const key = keys.get(value.dataKeyId) ?? openDataKey(keyring, keyOf(value));
    keys.set(value.dataKeyId, key);
    return key;
  };
  return Object.fromEntries(
    sealed.map((value) => [value.field, new Secret(unsealValue(keyFor(value), value, value.ciphertext))]),
  );
}

async function replace(
  deps: SecretStoreDeps,
  tx: Tx,
  orgId: string,
  integrationId: string,
  values: Secrets,
): Promise<void> {
  const entries = Object.entries(values);
  const isIdle = entries.length === 0 && (await findVersion(tx, orgId, integrationId)) === 0;
  if (isIdle) return;
  const version = await nextVersion(tx, orgId, integrationId);
  await deleteValues(tx, orgId, integrationId);
  if (entries.length === 0) return;
  const wrapped = await activeKey(deps, tx, orgId, entries.length);
  const key = openDataKey(deps.keyring, wrapped);
  for (const [field, secret] of entries) {
    const place = { orgId, integrationId, field, version };
    await insertValue(tx, place, wrapped.id, sealValue(key, place, secret.reveal()));
  }
}

async function activeKey(
  { keyring }: SecretStoreDeps,
  tx: Tx,
  orgId: string,
  encryptions: number,
): Promise<WrappedKey> {
  const found = await takeActiveKey(tx, orgId, encryptions);
  if (found !== null) return found;
  await lockKeysOf(tx, orgId);
  if (!(await hasActiveKey(tx, orgId))) await insertActiveKey(tx, newDataKey(keyring, orgId));
  const made = await takeActiveKey(tx, orgId, encryptions);
  if (made === null) throw new Error('an organization needs an active data key');
  return made;
}

async function purge(tx: Tx, orgId: string, integrationId: string): Promise<void> {
  await overwriteValues(tx, orgId, integrationId, Buffer.from('{}'));
  await deleteValues(tx, orgId, integrationId);
  await deleteVersion(tx, orgId, integrationId);
}
