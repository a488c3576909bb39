import type { Database } from '../db/database.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Secret } from '../kernel/secret.ts';
import { ulid } from '../kernel/ulid.ts';
import { type BusCipher, createBusCipher } from './bus-cipher.ts';
import { createHttpBus, type HttpBus } from './http-bus.ts';
import { createLeases, type Leases } from './leases.ts';
import { createNatsBus } from './nats-bus.ts';
import type { NodeBus } from './node-bus.ts';
import { clusterKey, createSigning } from './signing.ts';
import { createWakeUps, type WakeUps } from './wake-ups.ts';

export interface ClusterOptions {
  readonly db: Database;
  readonly databaseUrl: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pepper: Secret;
  /** Null: from the pepper, which all nodes share. */
  readonly secret: Secret | null;
  /** Where other nodes reach this one. */
  readonly address: () => string;
  readonly leaseMs: number;
  /** Null: HTTP between the nodes. */
  readonly natsUrl: string | null;
}

/** This node among the others on the same database. */
export interface Cluster {
  readonly leases: Leases;
  readonly bus: NodeBus;
  readonly cipher: BusCipher;
  readonly wakeUps: WakeUps;
  /** Commands of other nodes by HTTP; null where they come another way. */
  readonly receive: HttpBus['receive'] | null;
}

const wakeWithinMs = 50;

export function createCluster(options: ClusterOptions): Cluster {
  const { db, databaseUrl, logger, natsUrl } = options;
  // A new one with each start: what an earlier run of this machine held is not ours.
  const nodeId = ulid();
  const key = clusterKey(options.pepper, options.secret);
  const leases: Leases = createLeases({ ...options, nodeId, announce: () => wakeUps.leasesChanged() });
  const signing = createSigning(key, leases.databaseMs);
  const http = natsUrl === null ? createHttpBus({ nodeId, db, databaseUrl, logger, signing }) : null;
  const bus = http ?? createNatsBus({ nodeId, servers: natsUrl ?? '', logger, signing, key });
  const wakeUps = createWakeUps({
    send: bus.wake,
    isAlone: () => !leases.hasOthers(),
    withinMs: wakeWithinMs,
  });
  return { leases, bus, cipher: createBusCipher(key), wakeUps, receive: http?.receive ?? null };
}
