import { readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive } from './embedded-staging.ts';

/** A running server of a data directory, as its postmaster.pid tells. */
export type Postmaster = { readonly pid: number; readonly port: number; readonly status: string };

const POLL_MS = 25;
const FAST_STOP_MS = 60_000;
const IMMEDIATE_STOP_MS = 10_000;
const HALF_WRITTEN_MS = 1_000;

/** The live postmaster of this directory; null when there is none, whatever a left-over postmaster.pid says. */
export function findPostmaster(clusterDir: string): Postmaster | null {
  const recorded = readPidFile(clusterDir);
  return recorded && isPostmasterOf(recorded.pid, clusterDir) ? recorded : null;
}

/** Waits out a server that is starting or stopping: returns it when ready, null when it is gone. */
export async function settlePostmaster(clusterDir: string): Promise<Postmaster | null> {
  for (;;) {
    const found = findPostmaster(clusterDir);
    if (!found || found.status === 'ready') return found;
    await sleep(POLL_MS);
  }
}

/**
 * PostgreSQL refuses to start when postmaster.pid is empty (power loss) or names any live process of its user, and
 * process ids repeat quickly in containers. Call only when findPostmaster says that none runs; should one start in
 * between, PostgreSQL's own check of the shared memory segment still keeps a second one off the data.
 */
export async function clearStalePidFile(clusterDir: string): Promise<void> {
  const recorded = readPidFile(clusterDir);
  // Perhaps another start is just writing it.
  if (!recorded && pidFileText(clusterDir) !== null) await sleep(HALF_WRITTEN_MS);
  if (!findPostmaster(clusterDir)) rmSync(pidFilePath(clusterDir), { force: true });
}

/** Fast shutdown: open transactions are rolled back, sessions end, a checkpoint is written. */
export async function stopPostmaster(clusterDir: string): Promise<void> {
  const running = findPostmaster(clusterDir);
  if (!running) return;
  process.kill(running.pid, 'SIGINT');
  if (await hasEnded(running.pid, clusterDir, FAST_STOP_MS)) return;
  // An immediate shutdown loses nothing that was committed: the next start recovers from the write-ahead log.
  process.kill(running.pid, 'SIGQUIT');
  await hasEnded(running.pid, clusterDir, IMMEDIATE_STOP_MS);
}

/** Whether this postmaster is gone before the time is up. */
export async function hasEnded(pid: number, clusterDir: string, withinMs: number): Promise<boolean> {
  for (let waited = 0; waited < withinMs; waited += POLL_MS) {
    if (!isPostmasterOf(pid, clusterDir)) return true;
    await sleep(POLL_MS);
  }
  return false;
}

/** True when the files the server was started from are gone (an upgrade): it could no longer load its libraries. */
export function hasLostItsBinary(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/exe`).endsWith(' (deleted)');
  } catch {
    return false;
  }
}

function pidFilePath(clusterDir: string): string {
  return join(clusterDir, 'postmaster.pid');
}

function pidFileText(clusterDir: string): string | null {
  try {
    return readFileSync(pidFilePath(clusterDir), 'utf8');
  } catch {
    return null;
  }
}

// Lines (PostgreSQL's miscadmin.h): 1 pid, 2 data directory, 3 start time, 4 port, 5 socket, 6 address, 7 memory key, 8 status.
function readPidFile(clusterDir: string): Postmaster | null {
  const lines = pidFileText(clusterDir)?.split('\n') ?? [];
  const pid = Number(lines[0]);
  const port = Number(lines[3]);
  if (!Number.isInteger(pid) || pid <= 0 || !Number.isInteger(port)) return null;
  return { pid, port, status: lines[7]?.trim() || 'starting' };
}

/**
 * A postmaster works in its data directory, so the process is told by its name and its working directory. A zombie (no
 * init reaps it in some containers) and a foreign process that got the same id have no such directory.
 */
function isPostmasterOf(pid: number, clusterDir: string): boolean {
  if (!isAlive(pid)) return false;
  try {
    if (readFileSync(`/proc/${pid}/comm`, 'utf8').trim() !== 'postgres') return false;
    const workingDir = statSync(`/proc/${pid}/cwd`);
    const cluster = statSync(clusterDir);
    return workingDir.ino === cluster.ino && workingDir.dev === cluster.dev;
  } catch {
    return false;
  }
}
