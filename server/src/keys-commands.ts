import type { Config } from './config.ts';
import type { Database } from './db/database.ts';
import { generateToken, Secret } from './kernel/secret.ts';
import type { KeysArguments } from './keys-arguments.ts';
import { recordDataKeyRotation, recordKekRotation } from './keys-audit.ts';
import {
  type RotationDeps,
  rotateDek,
  rotateDeks,
  rotateKek,
  type Verification,
  verify,
} from './secrets/key-rotation.ts';
import { type Keyring, namedKeys } from './secrets/keyring.ts';
import { StartupError } from './startup-error.ts';
import { kekFile, readKeyring } from './startup-kek.ts';
import { readKeyFile, writeKeyFile } from './startup-key-file.ts';

export interface KeysReport {
  readonly command: string;
  readonly currentKid: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly verification: Verification;
}

type KeyConfig = Pick<Config, 'kek' | 'dataDir'>;

export interface KeysDatabases {
  /** Works under the role lintel_secrets, which may not write events. */
  readonly db: Database;
  readonly ordinary: Database;
}

export async function runKeysCommand(
  config: KeyConfig,
  { db, ordinary }: KeysDatabases,
  { command, orgId, isNew, batch }: KeysArguments,
): Promise<KeysReport> {
  if (isNew) putNewKeyInFront(config);
  const keyring = requireKeyring(config);
  const onRotated = (rotated: string, reencrypted: number): Promise<void> =>
    recordDataKeyRotation(ordinary, rotated, reencrypted);
  const deps: RotationDeps = { db, keyring, batch, onRotated };
  const work: Record<KeysArguments['command'], () => Promise<Record<string, number>>> = {
    'rotate-kek': async () => {
      const done = await rotateKek(deps);
      await recordKekRotation(ordinary, keyring.currentKid, done.rewrapped);
      return done;
    },
    'rotate-dek': () => (orgId === null ? rotateDeks(deps) : rotateDek(deps, orgId)),
    verify: async () => ({}),
    'drop-unused': () => dropUnused(config, deps),
  };
  const counts = await work[command]();
  const { currentKid } = keyring;
  return { command, currentKid, counts, verification: await verify({ db, keyring: requireKeyring(config) }) };
}

export function requireKeyring(config: KeyConfig): Keyring {
  const keyring = readKeyring(config);
  if (keyring !== null) return keyring;
  throw new StartupError(`There are no keys yet: ${kekFile(config.dataDir)} is made by the first start.`);
}

/** In front, so that it is the one that wraps. Services that run find it there as soon as they meet its name. */
function putNewKeyInFront(config: KeyConfig): void {
  const path = requireKeyFile(config);
  writeKeyFile(path, [generateToken(), ...textsIn(path).map(({ text }) => text)].join('\n'));
}

async function dropUnused(config: KeyConfig, deps: RotationDeps): Promise<{ dropped: number }> {
  const path = requireKeyFile(config);
  const { dataKeysByKid } = await verify(deps);
  const all = textsIn(path);
  const kept = all.filter(({ kid }, index) => index === 0 || (dataKeysByKid[kid] ?? 0) > 0);
  if (kept.length < all.length) writeKeyFile(path, kept.map(({ text }) => text).join('\n'));
  return { dropped: all.length - kept.length };
}

const textsIn = (path: string) => namedKeys(new Secret(readKeyFile(path) ?? ''));

function requireKeyFile(config: KeyConfig): string {
  requireKeyring(config);
  if (config.kek === null) return kekFile(config.dataDir);
  throw new StartupError(
    'The keys come from LINTEL_KEK: change it there, the first key being the one in use.',
  );
}
