import { type Cluster, createCluster } from '../../src/cluster/cluster.ts';
import type { Database } from '../../src/db/database.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { createLogger } from '../../src/kernel/logger.ts';
import { testPepper } from './test-world.ts';

/** For tests of parts that are about one node. */
export function lonelyCluster(db: Database, databaseUrl: string, leaseMs = 15_000): Cluster {
  return createCluster({
    db,
    databaseUrl,
    clock: systemClock,
    logger: createLogger({ level: 'silent' }),
    pepper: testPepper,
    secret: null,
    address: () => 'http://127.0.0.1:9',
    leaseMs,
    natsUrl: null,
  });
}
