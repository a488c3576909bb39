import type { Database } from '../db/database.ts';
import type { AgentPrincipal, KeyPrincipal } from '../kernel/call.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { createTicker } from '../kernel/ticker.ts';
import { touchKeys } from './principal.store.ts';

export interface KeyUses {
  note(principal: KeyPrincipal | AgentPrincipal): void;
  start(): void;
  /** Writes what is left. */
  stop(): Promise<void>;
}

const writeEveryMs = 5_000;

/** When keys were last used: gathered here and written every few seconds, so that it costs a request nothing. */
export function createKeyUses(db: Database, clock: Clock, logger: Logger): KeyUses {
  const uses = new Map<string, { orgId: string; keyId: string; at: Date }>();
  const write = async (): Promise<void> => {
    const batch = [...uses.values()];
    uses.clear();
    if (batch.length > 0) await db.asService((tx) => touchKeys(tx, batch));
  };
  const trouble = 'the last uses of keys could not be written';
  const ticker = createTicker({ everyMs: writeEveryMs, work: write, logger, trouble });
  return {
    note: ({ keyId, org }) => uses.set(keyId, { orgId: org.id, keyId, at: clock.now() }),
    start: () => ticker.start(),
    async stop() {
      await ticker.stop();
      await ticker.turn();
    },
  };
}
