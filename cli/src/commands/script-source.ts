import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { text as readStream } from 'node:stream/consumers';
import { CliError, exitCodes } from '../exit.ts';
import { type Preprocessed, preprocess } from '../preprocess/preprocess.ts';
import { createFileReader, displayName } from '../preprocess/read-files.ts';
import { readEnvFile, readSecretFile } from '../preprocess/values.ts';
import type { World } from '../world.ts';

export interface ValueFiles {
  readonly fromEnvFile?: string;
  readonly fromSecret?: string;
}

export type Values = ReadonlyMap<string, string>;

/** Of a key in both files the secret's value holds. */
export function readValues({ environment: { cwd } }: World, files: ValueFiles): Values {
  return new Map([
    ...readValueFile(cwd, files.fromEnvFile, readEnvFile),
    ...readValueFile(cwd, files.fromSecret, readSecretFile),
  ]);
}

function readValueFile(cwd: string, path: string | undefined, read: (text: string) => Values): Values {
  if (path === undefined) return new Map();
  const name = displayName(cwd, resolve(cwd, path));
  try {
    return read(readFileSync(resolve(cwd, path), 'utf8'));
  } catch (error) {
    const reason = error instanceof TypeError ? error.message : 'can not be read';
    throw new CliError(exitCodes.usage, `${name}: ${reason}`, { cause: error });
  }
}

/** The script as the service gets it; `-` is standard input. */
export async function readScript(world: World, file: string, values: Values): Promise<Preprocessed> {
  const { cwd } = world.environment;
  const files = createFileReader(cwd);
  if (file === '-') {
    const text = await readStream(world.stdin);
    return preprocess({ entry: { path: resolve(cwd, '-'), name: '<stdin>', text }, values, files });
  }
  const entry = files(resolve(cwd, file));
  if ('problem' in entry) throw new CliError(exitCodes.usage, `${entry.name}: ${entry.problem}`);
  return preprocess({ entry, values, files });
}

/** Messages of the language may repeat a part of the source, and with it a secret. */
export function maskValues(text: string, values: Values): string {
  return [...values].reduce(
    (masked, [key, value]) => (value.length < 4 ? masked : masked.replaceAll(value, `{{${key}}}`)),
    text,
  );
}
