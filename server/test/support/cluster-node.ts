// A node in a process of its own, on a database that exists: to be killed and stopped by tests. Settings come as JSON.
import { compose } from '../../src/compose.ts';
import { readConfig } from '../../src/config.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { createLogger } from '../../src/kernel/logger.ts';
import { providerDefinitions } from '../../src/providers/registry.ts';
import { drain } from '../../src/startup-drain.ts';
import type { NodeSettings } from './cluster-nodes.ts';
import { ledgerProvider } from './ledger-provider.ts';
import { patientMs, rootOrgId, testKeyring, testPepper, testPublicUrl } from './test-world.ts';

const settings = JSON.parse(process.argv[2] ?? '') as NodeSettings;
const { name, ledger, databaseUrl, leaseMs, port, dataDir, mutant } = settings;
const config = readConfig({
  PUBLIC_URL: testPublicUrl,
  LINTEL_DATA_DIR: dataDir,
  DATABASE_CONNECTIONS: '10',
  LOG_LEVEL: 'silent',
  HOST: '127.0.0.1',
  PORT: String(port),
  ...(mutant === 'no grace' ? { LINTEL_DRAIN_GRACE_MS: '0' } : {}),
});
const app = compose({
  config,
  databaseUrl,
  databaseAnswerMs: patientMs,
  pepper: testPepper,
  keyring: testKeyring,
  rootOrgId,
  clock: systemClock,
  logger: createLogger({ level: 'silent' }),
  leaseMs,
  providerDefinitions: new Map([...providerDefinitions, ['virtual_demo', ledgerProvider(ledger, name)]]),
  ...(mutant === 'no lease check' ? { wrapCluster: withoutLeaseCheck } : {}),
});

/** The mutant: once it had a lease it goes on as if it had it still. */
function withoutLeaseCheck<T extends { leases: object }>(cluster: T): T {
  const leases = cluster.leases as {
    usableUntilMs(id: string): number;
    start(holder: object): Promise<void>;
  };
  const gained = new Set<string>();
  const usableUntilMs = (id: string): number => {
    const until = leases.usableUntilMs(id);
    if (until > systemClock.monotonicMs()) gained.add(id);
    return gained.has(id) ? Number.POSITIVE_INFINITY : until;
  };
  const start = (holder: object) => leases.start({ ...holder, lost: () => undefined });
  return { ...cluster, leases: { ...leases, usableUntilMs, start } };
}

let stopping = false;
process.on('SIGTERM', () => {
  if (!stopping) void stop();
});

async function stop(): Promise<void> {
  stopping = true;
  await app.leave();
  await drain(app.http.server, app.close, 10_000);
  process.exit(0);
}

await app.start();
await app.listen();
console.log('ready');
