import type { Owner } from './cluster.store.ts';

/**
 * answered  by the node that was asked, with its signature
 * not_sent  provably no byte left
 * lost      anything else: it may have arrived
 */
export type BusReply =
  | { readonly kind: 'answered'; readonly body: string }
  | { readonly kind: 'not_sent' }
  | { readonly kind: 'lost' };

export interface WakeUp {
  /** Organizations in which something has changed. */
  readonly orgIds: readonly string[];
  /** Whether leases have become free. */
  readonly leases: boolean;
}

export interface BusHandlers {
  /** Only for what another node of this installation has sent. It does not throw. */
  readonly onRequest: (body: string) => Promise<string>;
  /** A wake-up is a hint: whoever misses it finds the same a little later by looking. */
  readonly onWakeUp: (wakeUp: WakeUp) => void;
}

/** How nodes reach each other. */
export interface NodeBus {
  start(handlers: BusHandlers): Promise<void>;
  /** Asks once and never again. It does not throw. */
  request(owner: Owner, body: string, withinMs: number): Promise<BusReply>;
  wake(wakeUp: WakeUp): Promise<void>;
  close(): Promise<void>;
}

export const notSent: BusReply = { kind: 'not_sent' };
export const lost: BusReply = { kind: 'lost' };
