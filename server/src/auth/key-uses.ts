import type { Database } from '../db/database.ts';
import type { AgentPrincipal, KeyPrincipal } from '../kernel/call.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { touchKeys } from './principal.store.ts';

export interface KeyUses {
  note(principal: KeyPrincipal | AgentPrincipal): void;
  start(): void;
  /** Writes what is left. */
  stop(): Promise<void>;
}

const flushEveryMs = 5_000;

/** When keys were last used: gathered here and written every few seconds, so that it costs a request nothing. */
export function createKeyUses(db: Database, clock: Clock, logger: Logger): KeyUses {
  const uses = new Map<string, { orgId: string; keyId: string; at: Date }>();
  let timer: NodeJS.Timeout | undefined;

  async function flush(): Promise<void> {
    const batch = [...uses.values()];
    uses.clear();
    if (batch.length === 0) return;
    try {
      await db.asService((tx) => touchKeys(tx, batch));
    } catch (error) {
      logger.warn({ err: error }, 'the last uses of keys could not be written');
    }
  }

  return {
    note: ({ keyId, org }) => uses.set(keyId, { orgId: org.id, keyId, at: clock.now() }),
    start: () => {
      timer = setInterval(() => void flush(), flushEveryMs);
      timer.unref();
    },
    stop: () => {
      clearInterval(timer);
      return flush();
    },
  };
}
