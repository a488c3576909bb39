import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { ulid } from '../kernel/ulid.ts';
import type { Keyring } from './keyring.ts';

/** Never says what it could not read, only where. */
export class SecretUnreadable extends Error {}

/** As it is stored: wrapped by the key encryption key `kid`. */
export interface WrappedKey {
  readonly orgId: string;
  readonly id: string;
  readonly kid: string;
  readonly wrapped: Buffer;
}

export interface ValuePlace {
  readonly orgId: string;
  readonly integrationId: string;
  readonly field: string;
  readonly version: number;
}

const FORMAT = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** format (1 byte) | nonce | ciphertext | tag */
function seal(key: KeyObject, plain: Buffer, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(context));
  const body = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([Buffer.of(FORMAT), nonce, body, cipher.getAuthTag()]);
}

function unseal(key: KeyObject, sealed: Buffer, context: string, what: string): Buffer {
  const isWhole = sealed[0] === FORMAT && sealed.length >= 1 + NONCE_BYTES + TAG_BYTES;
  if (!isWhole) throw new SecretUnreadable(`${what} has an unknown format`);
  const bodyStart = 1 + NONCE_BYTES;
  const bodyEnd = sealed.length - TAG_BYTES;
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(1, bodyStart), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(sealed.subarray(bodyEnd));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(bodyStart, bodyEnd)), decipher.final()]);
  } catch (cause) {
    throw new SecretUnreadable(`${what} is not what was written there`, { cause });
  }
}

export function newDataKey(keyring: Keyring, orgId: string): WrappedKey {
  // Else a key made after a rotation would hang on the key encryption key that is about to leave.
  keyring.refresh?.();
  return wrap(keyring, { orgId, id: ulid() }, randomBytes(32));
}

/** The same key under the current key encryption key: what it encrypted stays as it is. */
export function rewrap(keyring: Keyring, key: WrappedKey): WrappedKey {
  return wrap(keyring, key, unwrap(keyring, key));
}

export function openDataKey(keyring: Keyring, key: WrappedKey): KeyObject {
  return createSecretKey(unwrap(keyring, key));
}

/** Bound to where it stands: moved to another organization, integration, field or version it can not be read. */
export function sealValue(key: KeyObject, place: ValuePlace, value: string): Buffer {
  return seal(key, Buffer.from(value), contextOf(place));
}

export function unsealValue(key: KeyObject, place: ValuePlace, sealed: Buffer): string {
  const what = `the secret ${place.field} of the integration ${place.integrationId}`;
  return unseal(key, sealed, contextOf(place), what).toString();
}

/** Unambiguous although a field may hold a bar: ids have one length, and a version is digits only. */
function contextOf({ orgId, integrationId, field, version }: ValuePlace): string {
  return `${orgId}|${integrationId}|${field}|${version}`;
}

type KeyName = Pick<WrappedKey, 'orgId' | 'id'>;

function wrap({ currentKid, keys }: Keyring, { orgId, id }: KeyName, plain: Buffer): WrappedKey {
  const kek = keys.get(currentKid);
  if (kek === undefined) throw new SecretUnreadable('the keyring is empty');
  return { orgId, id, kid: currentKid, wrapped: seal(kek, plain, `${orgId}|${id}`) };
}

function unwrap(keyring: Keyring, { orgId, id, kid, wrapped }: WrappedKey): Buffer {
  if (!keyring.keys.has(kid)) keyring.refresh?.();
  const kek = keyring.keys.get(kid);
  if (kek === undefined) throw new SecretUnreadable(`the key encryption key ${kid} is not in the keyring`);
  return unseal(kek, wrapped, `${orgId}|${id}`, `the data key ${id}`);
}
