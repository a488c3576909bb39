// A node in a process of its own that ends, or errs, at a given step of an open. It loads everything, says `loaded`,
// waits for one line (the failpoint and the mutant as JSON) and then serves.
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { compose } from '../../src/compose.ts';
import { readConfig } from '../../src/config.ts';
import type { EngineDeps } from '../../src/engine/engine.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { createLogger } from '../../src/kernel/logger.ts';
import { providerDefinitions } from '../../src/providers/registry.ts';
import { type Ending, withFailpoint } from '../faults/failpoints.ts';
import { type EngineMutantName, engineMutants } from '../faults/mutants/engine-mutants.ts';
import { resendLost } from '../faults/mutants/resending-recovery.ts';
import { patientMs, rootOrgId, testKeyring, testPepper, testPublicUrl } from './test-world.ts';

export interface VictimSettings {
  readonly databaseUrl: string;
  readonly port: number;
  readonly dataDir: string;
}

export interface VictimOrder {
  readonly ending: Ending | null;
  readonly mutant: EngineMutantName | 'recovery sends again' | null;
}

const { databaseUrl, port, dataDir } = JSON.parse(process.argv[2] ?? '') as VictimSettings;
console.log('loaded');
const [line] = (await once(createInterface({ input: process.stdin }), 'line')) as [string];
const { ending, mutant } = JSON.parse(line) as VictimOrder;

const die = (): void => void process.kill(process.pid, 'SIGKILL');
const { promise: engine, resolve: made } = Promise.withResolvers<EngineDeps>();

function faulty(real: EngineDeps): EngineDeps {
  made(real);
  const mutated = mutant === null || mutant === 'recovery sends again' ? real : engineMutants[mutant](real);
  return ending === null ? mutated : withFailpoint(mutated, ending, die);
}

/** A Tasmota keeps no connection: without a lease no test has to wait for the one of the node that was killed. */
function withoutLease(): typeof providerDefinitions {
  const tasmota = providerDefinitions.get('tasmota');
  if (tasmota === undefined) throw new Error('there is no tasmota');
  const manifest = { ...tasmota.manifest, connection: 'none' } as const;
  return new Map([...providerDefinitions, ['tasmota', { ...tasmota, manifest }]]);
}

const app = compose({
  config: readConfig({
    PUBLIC_URL: testPublicUrl,
    LINTEL_DATA_DIR: dataDir,
    DATABASE_CONNECTIONS: '10',
    LOG_LEVEL: 'silent',
    HOST: '127.0.0.1',
    PORT: String(port),
  }),
  databaseUrl,
  databaseAnswerMs: patientMs,
  pepper: testPepper,
  keyring: testKeyring,
  rootOrgId,
  clock: systemClock,
  logger: createLogger({ level: 'silent' }),
  providerDefinitions: withoutLease(),
  wrapEngine: faulty,
});
await app.start();
await app.listen();
if (mutant === 'recovery sends again') await resendLost(await engine);
console.log('ready');
