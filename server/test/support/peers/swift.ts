// OpenStack Swift with its S3 door: the one S3 of Debian that checks signatures. One copy of everything, in a directory
// that is thrown away.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { S3mini } from 's3mini';
import { freePort } from './free-port.ts';
import { type PeerProcess, startPeerProcess } from './peer-process.ts';

export interface Swift {
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
  createBucket(name: string): Promise<void>;
  /** The programs end, the objects stay. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  close(): Promise<void>;
}

const kinds = ['account', 'container', 'object'] as const;
type Kind = (typeof kinds)[number];
const user = userInfo().username;
const python = '/usr/bin/python3';
const region = 'us-east-1';
const [accessKeyId, secretAccessKey] = ['test:lintel', 'swift-secret'];

export async function startSwift(): Promise<Swift> {
  const dir = mkdtempSync(join(tmpdir(), 'lintel-swift-'));
  const [account, container, object, port, cachePort] = await fiveFreePorts();
  const ports = { account, container, object };
  writeFileSync(join(dir, 'swift.conf'), swiftConf);
  mkdirSync(join(dir, 'devices', 'd1'), { recursive: true });
  buildRings(dir, ports);
  for (const kind of kinds) writeFileSync(join(dir, `${kind}.conf`), storageConf(dir, kind, ports[kind]));
  writeFileSync(join(dir, 'proxy.conf'), proxyConf(dir, port, cachePort));
  let running: PeerProcess[] = [];
  const endpoint = `http://127.0.0.1:${port}`;
  const resume = async (): Promise<void> => {
    running = [...kinds, 'proxy'].map((name) =>
      startPeerProcess(python, [`/usr/bin/swift-${name}-server`, join(dir, `${name}.conf`), '--verbose']),
    );
    running.push(
      startPeerProcess('/usr/bin/memcached', ['-u', user, '-l', '127.0.0.1', '-p', String(cachePort)]),
    );
    for (const at of [...Object.values(ports), port]) await answering(at, running);
  };
  const pause = async (): Promise<void> => {
    await Promise.all(running.map((each) => each.stop()));
  };
  await resume();
  return {
    endpoint,
    accessKeyId,
    secretAccessKey,
    region,
    createBucket: async (name) => {
      const s3 = new S3mini({ accessKeyId, secretAccessKey, endpoint: `${endpoint}/${name}`, region });
      if (!(await s3.createBucket()))
        throw new Error(`no bucket:\n${running.flatMap((each) => each.lines).join('\n')}`);
    },
    pause,
    resume,
    close: async () => {
      await pause();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Five different ones: what is free stays free until its server listens, so it may be picked again. */
async function fiveFreePorts(): Promise<[number, number, number, number, number]> {
  const picked = new Set<number>();
  while (picked.size < 5) picked.add(await freePort());
  return [...picked] as [number, number, number, number, number];
}

const swiftConf = '[swift-hash]\nswift_hash_path_prefix = lintel\nswift_hash_path_suffix = test\n';

/** Four partitions are enough for one copy on one device. One call for all three: most of its time is its start. */
function buildRings(dir: string, ports: Readonly<Record<Kind, number>>): void {
  const script = `
import sys
from swift.common.ring import RingBuilder
for kind, port in zip(${JSON.stringify(kinds)}, sys.argv[2:]):
    builder = RingBuilder(2, 1, 1)
    builder.add_dev({'region': 1, 'zone': 1, 'ip': '127.0.0.1', 'port': int(port), 'device': 'd1', 'weight': 1})
    builder.rebalance()
    builder.get_ring().save(sys.argv[1] + '/' + kind + '.ring.gz')
`;
  execFileSync(python, ['-c', script, dir, ...kinds.map((kind) => String(ports[kind]))], { stdio: 'pipe' });
}

/** In one process (workers = 0), so that whoever ends it ends all of it. */
const common = (dir: string, port: number): string => `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
workers = 0
user = ${user}
swift_dir = ${dir}
devices = ${join(dir, 'devices')}
mount_check = false
fallocate_reserve = 0
log_address = ${join(dir, 'no-syslog')}
`;

const storageConf = (dir: string, kind: Kind, port: number): string => `${common(dir, port)}
[pipeline:main]
pipeline = ${kind}-server
[app:${kind}-server]
use = egg:swift#${kind}
`;

const proxyConf = (dir: string, port: number, cachePort: number): string => `${common(dir, port)}
[pipeline:main]
pipeline = catch_errors gatekeeper cache s3api tempauth proxy-server
[app:proxy-server]
use = egg:swift#proxy
allow_account_management = true
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:${cachePort}
[filter:s3api]
use = egg:swift#s3api
location = ${region}
[filter:tempauth]
use = egg:swift#tempauth
user_test_lintel = ${secretAccessKey} .admin
`;

async function answering(port: number, processes: readonly PeerProcess[]): Promise<void> {
  for (let attempt = 0; attempt < 1_200; attempt += 1) {
    const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => null);
    await answer?.body?.cancel();
    if (answer !== null) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`swift did not start:\n${processes.flatMap((each) => each.lines).join('\n')}`);
}
