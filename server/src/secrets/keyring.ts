import { createSecretKey, type KeyObject } from 'node:crypto';
import { type Secret, sha256 } from '../kernel/secret.ts';

/** Key encryption keys: they only ever wrap data keys. The first one wraps, the others are for reading. */
export interface Keyring {
  readonly currentKid: string;
  readonly keys: ReadonlyMap<string, KeyObject>;
  /** Looks for keys that were added meanwhile; absent where none can be. */
  refresh?(): void;
}

/**
 * A keyring whose source may get a new key while the service runs: that is what makes a rotation possible without a
 * restart. A key that has left the source stays readable here, and a source that can not be read changes nothing.
 */
export function createLiveKeyring(first: Keyring, read: () => Keyring | null): Keyring {
  let held = first;
  return {
    get currentKid() {
      return held.currentKid;
    },
    get keys() {
      return held.keys;
    },
    refresh: () => {
      const next = read();
      if (next !== null) held = { currentKid: next.currentKid, keys: new Map([...held.keys, ...next.keys]) };
    },
  };
}

const SHAPE = /^[A-Za-z0-9_-]{43}$/;

/** The texts of a keyring, each with its name. */
export function namedKeys(text: Secret): { readonly kid: string; readonly text: string }[] {
  return partsOf(text).map((part) => ({ kid: kidOf(Buffer.from(part, 'base64url')), text: part }));
}

const partsOf = (text: Secret): string[] =>
  text
    .reveal()
    .split(/[\s,]+/)
    .filter((part) => part !== '');

/** 32 bytes as unpadded base64url, one or more, separated by commas or white space; null where one is not that. */
export function parseKeyring(text: Secret): Keyring | null {
  const parts = partsOf(text);
  return parts.length > 0 && parts.every((part) => SHAPE.test(part)) ? createKeyring(parts) : null;
}

function createKeyring(keys: readonly string[]): Keyring {
  const named = keys.map((text) => {
    const bytes = Buffer.from(text, 'base64url');
    return [kidOf(bytes), createSecretKey(bytes)] as const;
  });
  return { currentKid: named[0]?.[0] ?? '', keys: new Map(named) };
}

/** A fingerprint, so that no key can be taken for another by a wrong name. */
function kidOf(key: Buffer): string {
  return sha256(Buffer.concat([Buffer.from('lintel key encryption key'), key]))
    .toString('hex')
    .slice(0, 16);
}
