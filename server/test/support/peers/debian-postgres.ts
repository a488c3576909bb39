// The PostgreSQL of Debian with its own pg_dump, which the embedded one comes without.
import { type ExecFileOptions, execFile, execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeTestDir } from '../test-cluster.ts';
import { freePort } from './free-port.ts';

export interface DebianPostgres {
  readonly ownerUrl: string;
  /** What pg_dump writes of a database, as plain text. */
  dump(url: string): Promise<string>;
  stop(): Promise<void>;
}

const run = promisify(execFile);
const root = '/usr/lib/postgresql';

export async function startDebianPostgres(): Promise<DebianPostgres> {
  const version = readdirSync(root).toSorted((a, b) => Number(b) - Number(a))[0] ?? '';
  const program = (name: string) => join(root, version, 'bin', name);
  const dir = makeTestDir();
  const account = accountOf();
  const data = join(dir, 'data');
  mkdirSync(data, { mode: 0o700 });
  if (account.uid !== undefined && account.gid !== undefined) chownSync(data, account.uid, account.gid);
  const options: ExecFileOptions = { ...account, cwd: dir };
  await run(
    program('initdb'),
    ['-D', data, '-U', 'owner', '-A', 'trust', '-E', 'UTF8', '--no-sync'],
    options,
  );
  const port = await freePort();
  const settings = `-F -p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=`;
  const log = join(data, 'log');
  await run(program('pg_ctl'), ['-D', data, '-w', '-l', log, '-o', settings, 'start'], options);
  return {
    ownerUrl: `postgresql://owner@127.0.0.1:${port}/postgres`,
    dump: async (url) => {
      const { stdout } = await run(program('pg_dump'), [url], { maxBuffer: 268_435_456 });
      return stdout;
    },
    stop: async () => {
      await run(program('pg_ctl'), ['-D', data, '-m', 'immediate', 'stop'], options);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** PostgreSQL does not run as root; Debian's package brings a user for it. */
function accountOf(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}
