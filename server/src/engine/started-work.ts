import type { Logger } from '../kernel/logger.ts';
import { createTicker, type Ticker } from '../kernel/ticker.ts';

/** Something to be done with one entity. */
export interface Job {
  readonly orgId: string;
  readonly entityId: string;
}

/** Nothing is sent later than a deadline after this: then the claim is not over, and no other node is at it. */
export interface Claimed {
  readonly claimedMs: number;
}

/** How much more may be claimed now. */
export interface Room {
  readonly jobs: number;
  /** Of one organization, so that the devices of one do not take the room of all. */
  readonly ofOneOrg: number;
  /** Those that have as much under way as they may have. */
  readonly fullOrgIds: readonly string[];
}

export interface StartedWorkOptions<T extends Job> {
  readonly everyMs: number;
  /** Comes before what is started, and is waited for. */
  readonly first?: () => Promise<void>;
  readonly claim: (room: Room) => Promise<readonly T[]>;
  /** Never rejects. */
  readonly work: (job: T) => Promise<void>;
  readonly logger: Logger;
  readonly trouble: string;
}

const perTurn = 100;
const perOrg = 50;
const atOnce = 500;

/**
 * A turn claims what is due and starts it: a device that does not answer holds up nobody else. What is under way is not
 * started again, however long it takes; `stop` waits for it.
 */
export function createStartedWork<T extends Job>(options: StartedWorkOptions<T>): Ticker {
  const underWay = new Map<string, { readonly orgId: string; readonly done: Promise<void> }>();
  const start = (job: T): void => {
    const key = `${job.orgId} ${job.entityId}`;
    if (underWay.has(key)) return;
    const done = options.work(job).finally(() => underWay.delete(key));
    underWay.set(key, { orgId: job.orgId, done });
  };
  const turn = async (): Promise<void> => {
    await options.first?.();
    const room = roomBeside([...underWay.values()].map(({ orgId }) => orgId));
    if (room.jobs > 0) for (const job of await options.claim(room)) start(job);
  };
  const { everyMs, logger, trouble } = options;
  const ticker = createTicker({ everyMs, work: turn, logger, trouble });
  return {
    ...ticker,
    async stop() {
      await ticker.stop();
      await Promise.all([...underWay.values()].map(({ done }) => done));
    },
  };
}

function roomBeside(orgIds: readonly string[]): Room {
  const counts = new Map<string, number>();
  for (const orgId of orgIds) counts.set(orgId, (counts.get(orgId) ?? 0) + 1);
  return {
    jobs: Math.min(perTurn, atOnce - orgIds.length),
    ofOneOrg: perOrg,
    fullOrgIds: [...counts].filter(([, count]) => count >= perOrg).map(([orgId]) => orgId),
  };
}
