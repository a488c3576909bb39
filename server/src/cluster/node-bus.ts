import type { Delivery, EntityBinding, Verb } from '../providers/provider.ts';
import type { Owner } from './cluster.store.ts';

/** A command for a connection that another node holds. */
export interface NodeCommand {
  readonly orgId: string;
  readonly integrationId: string;
  readonly providerType: string;
  readonly config: Record<string, unknown>;
  /** Of the lease, as the sender saw it: the fencing token. */
  readonly epoch: number;
  /** By the database's time, in milliseconds since 1970. Nothing is sent after it. */
  readonly notAfterMs: number;
  readonly verb: Verb;
  readonly intentId: string;
  readonly entity: EntityBinding;
  readonly pulseSeconds: number | null;
}

/** `moved`: the asked node does not hold that lease (any more), and nothing was sent. */
export type NodeAnswer = Delivery | { readonly kind: 'moved' };

export interface WakeUp {
  /** Organizations in which something has changed. */
  readonly orgIds: readonly string[];
  /** Whether leases have become free. */
  readonly leases: boolean;
}

export interface BusHandlers {
  readonly onCommand: (command: NodeCommand) => Promise<NodeAnswer>;
  /** A wake-up is a hint: whoever misses it finds the same a little later by looking. */
  readonly onWakeUp: (wakeUp: WakeUp) => void;
}

/** How nodes reach each other. */
export interface NodeBus {
  start(handlers: BusHandlers): Promise<void>;
  /**
   * Asks once and never again. `moved` also when provably no byte left, `unknown` when the answer is lost.
   * It does not throw.
   */
  request(owner: Owner, command: NodeCommand, withinMs: number): Promise<NodeAnswer>;
  wake(wakeUp: WakeUp): Promise<void>;
  close(): Promise<void>;
}

export const moved: NodeAnswer = { kind: 'moved' };
export const lostAnswer: NodeAnswer = {
  kind: 'unknown',
  reason: 'the node that holds the connection did not answer',
};
