import { join } from 'node:path';
import type { Config } from './config.ts';
import { equalInConstantTime, generateToken, hmacSha256, Secret } from './kernel/secret.ts';
import { StartupError } from './startup-error.ts';
import { readKeyFile, writeKeyFile } from './startup-key-file.ts';

/** Every secret of the database is hashed with it, so a copy of the database alone opens nothing. */
const pepperFile = (dataDir: string): string => join(dataDir, 'keys', 'pepper');

const SHAPE = /^[A-Za-z0-9_-]{43}$/;

/** The one that is set or that an earlier start made; null before the first start. */
export function readPepper(config: Pick<Config, 'pepper' | 'dataDir'>): Secret | null {
  if (config.pepper !== null) return config.pepper;
  const path = pepperFile(config.dataDir);
  const text = readKeyFile(path);
  if (text === undefined) return null;
  if (!SHAPE.test(text)) throw new StartupError(`${path} is damaged. Restore it from a backup.`);
  return new Secret(text);
}

export function createPepper({ dataDir }: Pick<Config, 'dataDir'>): Secret {
  const pepper = generateToken();
  writeKeyFile(pepperFile(dataDir), pepper);
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
