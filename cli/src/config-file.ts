import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { CliError, exitCodes } from './exit.ts';
import type { Wishes } from './settings.ts';

const nothing: Wishes = { url: null, token: null, orgId: null };

/** What `lintel login` stored; nothing where there is no file. */
export function readConfigFile(path: string): Wishes {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return nothing;
    throw new CliError(exitCodes.failure, `${path} can not be read`, { cause: error });
  }
  const stored = parse(path, text);
  const member = (name: string): string | null => {
    const value: unknown = Reflect.get(stored, name);
    return typeof value === 'string' && value !== '' ? value : null;
  };
  return { url: member('url'), token: member('token'), orgId: member('org_id') };
}

function parse(path: string, text: string): object {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null) return parsed;
  } catch {
    // The same message as for JSON that is no object.
  }
  throw new CliError(exitCodes.failure, `${path} holds no settings`, {
    hint: 'Remove it and run lintel login again.',
  });
}

/** Only its owner may read it, at no moment anybody else. */
export function writeConfigFile(path: string, { url, token, orgId }: Wishes): void {
  const draft = `${path}.${process.pid}.tmp`;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    writeFileSync(draft, `${JSON.stringify({ url, token, org_id: orgId ?? undefined }, null, 2)}\n`, {
      mode: 0o600,
      flag: 'wx',
    });
    chmodSync(draft, 0o600);
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** False where there is none. */
export function removeConfigFile(path: string): boolean {
  try {
    rmSync(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw new CliError(exitCodes.failure, `${path} can not be removed`, { cause: error });
  }
}

/** Null where there is no file. */
export function isConfigFilePrivate(path: string): boolean | null {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode;
  return mode === undefined ? null : (mode & 0o077) === 0;
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';
