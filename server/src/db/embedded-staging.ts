import { closeSync, fsyncSync, mkdtempSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Big things (a cluster, a copy of the binaries) are made in a staging folder and appear under their real name by one
 * rename. So a crash leaves no half of them, and of two starts at the same time the first to finish wins.
 */
export function createStaging(parent: string, prefix: string): string {
  for (const name of readdirSync(parent)) {
    if (isAbandoned(name, prefix)) rmSync(join(parent, name), { recursive: true, force: true });
  }
  return mkdtempSync(join(parent, `${prefix}${process.pid}-`));
}

/** False when another process put its own there first. */
export function moveIntoPlace(from: string, to: string): boolean {
  try {
    renameSync(from, to);
  } catch (error) {
    if (isErrno(error, 'ENOTEMPTY') || isErrno(error, 'EEXIST')) return false;
    throw error;
  }
  const parent = openSync(dirname(to), 'r');
  fsyncSync(parent);
  closeSync(parent);
  return true;
}

function isAbandoned(name: string, prefix: string): boolean {
  if (!name.startsWith(prefix)) return false;
  const pid = Number.parseInt(name.slice(prefix.length), 10);
  // Our own id in a name we have not made yet: an earlier process had it (always so in a container).
  return pid === process.pid || !isAlive(pid);
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isErrno(error, 'EPERM');
  }
}

export function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
