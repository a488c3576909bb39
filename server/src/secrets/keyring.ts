import { createSecretKey, type KeyObject } from 'node:crypto';
import { type Secret, sha256 } from '../kernel/secret.ts';

/** Key encryption keys: they only ever wrap data keys. The first one wraps, the others are for reading. */
export interface Keyring {
  readonly currentKid: string;
  readonly keys: ReadonlyMap<string, KeyObject>;
}

const SHAPE = /^[A-Za-z0-9_-]{43}$/;

/** 32 bytes as unpadded base64url, one or more, separated by commas or white space; null where one is not that. */
export function parseKeyring(text: Secret): Keyring | null {
  const parts = text
    .reveal()
    .split(/[\s,]+/)
    .filter((part) => part !== '');
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
