import { setTimeout as delay } from 'node:timers/promises';
import type { ActionResult } from '@lintel/contract/actions';
import type { Database } from '../db/database.ts';
import { AppError } from '../kernel/app-error.ts';
import { type Call, principalId } from '../kernel/call.ts';
import { createLru } from '../kernel/lru.ts';
import { StaleDecision } from '../kernel/stale-decision.ts';
import type { Slowdown } from '../quota/slowdown.rules.ts';
import type { SlowedUse } from '../quota/slowed-use.ts';
import { countersOf } from './counters.rules.ts';
import { findStoredIntent } from './intents.store.ts';
import { readinessOf, tooSoon } from './intervals.ts';
import type { PreparedAction } from './prepare-action.ts';

export type Degradation = NonNullable<ActionResult['degradation']>;

export interface SlowDown {
  /** Waits where a limit is passed: before T1, so that it holds nothing and an open still has its whole deadline. */
  before(call: Call, action: PreparedAction, idempotencyKey: string | null): Promise<Degradation | null>;
  /** The request starts over because the organization changed meanwhile: it does not wait a second time. */
  credit(call: Call, action: PreparedAction, degradation: Degradation): void;
}

export interface SlowDownDeps {
  readonly db: Database;
  readonly use: SlowedUse;
  /** For tests that must not wait. */
  readonly wait?: (ms: number) => Promise<unknown>;
}

export function createSlowDown({ db, use, wait = delay }: SlowDownDeps): SlowDown {
  const credits = createLru<string, Degradation>(1_000);
  const requestOf = (call: Call, { org, principal }: PreparedAction) =>
    `${org.id} ${principalId(principal)} ${call.correlationId}`;
  return {
    async before(call, action, idempotencyKey) {
      const paid = credits.get(requestOf(call, action));
      if (paid !== undefined) {
        credits.delete(requestOf(call, action));
        return paid;
      }
      const next = await use.next(action.org, countersOf(action.verb, action.principal));
      if (next === null) return null;
      const { slowdown } = next;
      // Nobody waits for what only memory says: the limit may be gone.
      if (slowdown !== null && call.recalled === true) throw new StaleDecision();
      if (slowdown !== null && (await isRepeated(db, action, idempotencyKey))) return null;
      // Nobody waits in order to be told to wait.
      if (slowdown !== null) await requireReady(db, action);
      next.count();
      if (slowdown === null) return null;
      await wait(slowdown.delayMs);
      if (call.isGone?.() === true)
        throw new AppError('request_timeout', 'the caller left while it waited; nothing was done');
      return degradationOf(slowdown);
    },
    credit: (call, action, degradation) => credits.set(requestOf(call, action), degradation),
  };
}

async function requireReady(db: Database, action: PreparedAction): Promise<void> {
  const { waitMs } = await db.inOrg(action.org.id, (tx) => readinessOf(tx, action));
  if (waitMs > 0) throw tooSoon(waitMs);
}

/** What was done already is told at once: it opens nothing. */
async function isRepeated(db: Database, action: PreparedAction, key: string | null): Promise<boolean> {
  if (key === null) return false;
  const { org, principal, fingerprint } = action;
  const stored = await db.inOrg(org.id, (tx) =>
    findStoredIntent(tx, org.id, principalId(principal), key, fingerprint),
  );
  return stored !== null;
}

function degradationOf({ key, period, current, limit, delayMs }: Slowdown): Degradation {
  const message = `${current} of ${limit} ${key} this ${period}: opens are slowed down, never refused`;
  return { stage: 'degraded', key, period, current, limit, delayed_ms: delayMs, message };
}
