import { execFile } from 'node:child_process';
import { lchownSync, readdirSync, type Stats, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cannotRunAtAll, cannotRunHere } from './embedded-error.ts';

/** The operating-system user PostgreSQL runs as. Without uid and gid: the user this process already is. */
export type DatabaseAccount = { readonly name: string; readonly uid?: number; readonly gid?: number };

export type RunResult = { readonly ok: boolean; readonly output: string };

// A fixed environment: neither PGDATA, PGPORT nor a locale or library path of the caller may steer the database.
export const DATABASE_ENV: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
};

const CREATED_USER = 'lintel-db';
const ROOT_UID = 0;

export function runAs(account: DatabaseAccount, file: string, args: readonly string[]): Promise<RunResult> {
  const { uid, gid } = account;
  return new Promise((resolve) => {
    // cwd '/': the caller's directory may be closed to the other user.
    execFile(file, args, { uid, gid, cwd: '/', env: DATABASE_ENV }, (error, stdout, stderr) => {
      resolve({ ok: error === null, output: stderr.trim() || stdout.trim() || (error?.message ?? '') });
    });
  });
}

/**
 * PostgreSQL refuses to run as root, so root hands it to another user. The owner of an existing cluster always wins:
 * a `postgres` user that appears later (installed by a package) must not lock us out of our own data.
 */
export async function chooseAccount(clusterDir: string, log: (message: string) => void) {
  const owner = statSync(clusterDir, { throwIfNoEntry: false });
  const self = process.getuid?.() ?? ROOT_UID;
  if (self !== ROOT_UID) return ownAccount(self, owner, clusterDir);
  if (owner && owner.uid !== ROOT_UID) return { name: `uid ${owner.uid}`, uid: owner.uid, gid: owner.gid };
  const account = await accountForRoot(log);
  if (owner) giveTo(account, clusterDir);
  return account;
}

function ownAccount(self: number, owner: Stats | undefined, clusterDir: string): DatabaseAccount {
  if (owner && owner.uid !== self) {
    throw cannotRunHere(
      `${clusterDir} belongs to uid ${owner.uid}, and Lintel runs as uid ${self}. Start it as that user or as root.`,
    );
  }
  return { name: `uid ${self}` };
}

async function accountForRoot(log: (message: string) => void): Promise<DatabaseAccount> {
  const existing = (await findUser('postgres')) ?? (await findUser(CREATED_USER)) ?? (await createUser(log));
  if (existing) return existing;
  const nobody = await findUser('nobody');
  if (!nobody) {
    throw cannotRunAtAll('PostgreSQL refuses to run as root, and there is no other user to run it as.');
  }
  log('The built-in PostgreSQL runs as user nobody, because no user could be created for it.');
  return nobody;
}

async function findUser(name: string): Promise<DatabaseAccount | null> {
  const self = { name: 'self' };
  const uid = await runAs(self, 'id', ['-u', name]);
  const gid = await runAs(self, 'id', ['-g', name]);
  return uid.ok && gid.ok ? { name, uid: Number(uid.output), gid: Number(gid.output) } : null;
}

async function createUser(log: (message: string) => void): Promise<DatabaseAccount | null> {
  const flags = ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin'];
  const created = await runAs({ name: 'self' }, 'useradd', [...flags, CREATED_USER]);
  if (!created.ok) return null;
  log(
    `Created the system user ${CREATED_USER} to run the built-in PostgreSQL, which refuses to run as root.`,
  );
  return findUser(CREATED_USER);
}

/** A cluster that root owns (restored from a backup, say) goes to the database's user; links are not followed. */
export function giveTo(account: DatabaseAccount, path: string): void {
  if (account.uid === undefined || account.gid === undefined) return;
  lchownSync(path, account.uid, account.gid);
  for (const name of readdirSync(path, { recursive: true, encoding: 'utf8' })) {
    lchownSync(join(path, name), account.uid, account.gid);
  }
}

/** Tried with the real user instead of computed from mode bits, so ACLs and mount options count too. */
export async function requireReachable(account: DatabaseAccount, dir: string): Promise<void> {
  if (account.uid === undefined || (await canEnter(account, dir)).ok) return;
  const fromRoot: string[] = [];
  for (let at = dir; ; at = dirname(at)) {
    fromRoot.unshift(at);
    if (at === dirname(at)) break;
  }
  for (const at of fromRoot) {
    const attempt = await canEnter(account, at);
    if (attempt.ok) continue;
    if (at === dirname(at))
      throw cannotRunAtAll(`No process can be run as ${account.name}: ${attempt.output}`);
    throw cannotRunHere(
      `PostgreSQL refuses to run as root, so it runs as user ${account.name}. That user cannot reach
  ${dir}
because it may not enter ${at}.`,
    );
  }
}

function canEnter(account: DatabaseAccount, dir: string): Promise<RunResult> {
  return runAs(account, '/bin/sh', ['-c', 'cd "$1"', 'sh', dir]);
}
