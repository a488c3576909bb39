import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from './config.ts';
import { equalInConstantTime, generateToken, hmacSha256, Secret } from './kernel/secret.ts';
import { StartupError } from './startup-error.ts';

/** Every secret of the database is hashed with it, so a copy of the database alone opens nothing. */
const pepperFile = (dataDir: string): string => join(dataDir, 'keys', 'pepper');

const SHAPE = /^[A-Za-z0-9_-]{43}$/;

/** The one that is set or that an earlier start made; null before the first start. */
export function readPepper(config: Pick<Config, 'pepper' | 'dataDir'>): Secret | null {
  if (config.pepper !== null) return config.pepper;
  const path = pepperFile(config.dataDir);
  const text = readIfThere(path)?.trim();
  if (text === undefined) return null;
  if (!SHAPE.test(text)) throw new StartupError(`${path} is damaged. Restore it from a backup.`);
  return new Secret(text);
}

/** Written in full before it is in place: a crash must not leave half a pepper behind. */
export function createPepper({ dataDir }: Pick<Config, 'dataDir'>): Secret {
  const path = pepperFile(dataDir);
  const pepper = generateToken();
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}`;
  const file = openSync(draft, 'w', 0o600);
  try {
    writeSync(file, `${pepper}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
  return new Secret(pepper);
}

/** Stored with the database, so that a node with another pepper is noticed before it calls every key unknown. */
export function pepperCheck(pepper: Secret): Buffer {
  return hmacSha256(pepper, 'pepper check');
}

export function requireSamePepper(pepper: Secret | null, check: Buffer, dataDir: string): Secret {
  const path = pepperFile(dataDir);
  const remedy = `Copy ${path} from a node that works, or set LINTEL_PEPPER to its content.`;
  if (pepper === null) {
    throw new StartupError(`The database is in use already, and this node lacks its pepper. ${remedy}`);
  }
  if (!equalInConstantTime(pepperCheck(pepper), check)) {
    throw new StartupError(
      `This node has another pepper than the database: no key would work here. ${remedy}`,
    );
  }
  return pepper;
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new StartupError(
      `${path} can not be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
