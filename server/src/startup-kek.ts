import { join } from 'node:path';
import type { Config } from './config.ts';
import { generateToken, Secret } from './kernel/secret.ts';
import { insertKid, listKids, lockKids } from './secrets/data-keys.store.ts';
import { createLiveKeyring, type Keyring, parseKeyring } from './secrets/keyring.ts';
import { withDatabase } from './startup-database.ts';
import { StartupError } from './startup-error.ts';
import { readKeyFile, writeKeyFile } from './startup-key-file.ts';

type KeyConfig = Pick<Config, 'kek' | 'dataDir'>;

export const kekFile = (dataDir: string): string => join(dataDir, 'keys', 'kek');

/**
 * The key encryption keys of this node: made by the first start, and from then on the same on every node. They never
 * stand in the database, which keeps fingerprints of them, so that a node with other keys is noticed before it locks a
 * secret that no other node can read.
 */
export async function prepareKeyring(config: KeyConfig, databaseUrl: string): Promise<Keyring> {
  const given = readKeyring(config);
  const prepare = (keyring: Keyring | null, kids: readonly { kid: string; dataKeys: number }[]): Keyring => {
    if (keyring === null && kids.length > 0) throw refusal('lacks its key encryption key', config);
    const ready = keyring ?? createKek(config);
    const isHeld = ({ kid }: { kid: string }) => ready.keys.has(kid);
    const isStrange = kids.length > 0 && !kids.some(isHeld);
    if (isStrange || kids.some((each) => each.dataKeys > 0 && !isHeld(each)))
      throw refusal('lacks a key encryption key that its secrets are locked with', config);
    return ready;
  };
  return withDatabase(
    databaseUrl,
    (db) =>
      // As the service: these keys belong to no organization.
      db.asService(async (tx) => {
        await lockKids(tx);
        const keyring = prepare(given, await listKids(tx));
        await insertKid(tx, keyring.currentKid);
        return keyring;
      }),
    'lintel_secrets',
  );
}

/** Null where there is none yet. Keys that are added to the file later are found without a restart. */
export function readKeyring(config: KeyConfig): Keyring | null {
  const keyring = readKeyringOnce(config);
  if (keyring === null || config.kek !== null) return keyring;
  return createLiveKeyring(keyring, () => {
    try {
      return readKeyringOnce(config);
    } catch (error) {
      if (error instanceof StartupError) return null;
      throw error;
    }
  });
}

function readKeyringOnce({ kek, dataDir }: KeyConfig): Keyring | null {
  const path = kekFile(dataDir);
  const text = kek ?? secretOf(readKeyFile(path));
  if (text === null) return null;
  const keyring = parseKeyring(text);
  if (keyring !== null) return keyring;
  throw new StartupError(
    kek === null
      ? `${path} is damaged. Restore it from a backup.`
      : 'LINTEL_KEK must be keys of 32 bytes as base64url, separated by commas.',
  );
}

function createKek({ dataDir }: KeyConfig): Keyring {
  const text = generateToken();
  writeKeyFile(kekFile(dataDir), text);
  const keyring = readKeyring({ kek: null, dataDir });
  if (keyring === null) throw new Error('a new key encryption key is gone');
  return keyring;
}

const secretOf = (text: string | undefined): Secret | null => (text === undefined ? null : new Secret(text));

function refusal(what: string, { dataDir }: KeyConfig): StartupError {
  return new StartupError(
    `The database is in use already, and this node ${what}. Copy ${kekFile(dataDir)} from a node that works, or set LINTEL_KEK to its content.`,
  );
}
