import type { LocalizedText } from '@lintel/contract/common';
import type { TObject } from 'typebox';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';

export type Verb = 'open' | 'close' | 'toggle';
export type Health = 'ok' | 'reduced' | 'error';
export type ObservedStatus = 'open' | 'closed' | 'unknown';

/** A provider describes itself as data: validation, documents and forms are made from it. */
export interface ProviderManifest {
  readonly type: string;
  readonly label: LocalizedText;
  readonly config: TObject;
  readonly defaultMinIntervalMs: number;
  /** Seconds a door stays open when nobody says otherwise; null when the provider leaves it open. */
  readonly defaultPulseSeconds: (config: Record<string, unknown>, entityType: string) => number | null;
}

export interface Command {
  readonly intentId: string;
  readonly orgId: string;
  readonly integrationId: string;
  readonly deviceId: string;
  readonly entityId: string;
  readonly entityType: string;
  readonly externalId: string | null;
  readonly config: Record<string, unknown>;
  readonly deviceMetadata: Record<string, unknown>;
  readonly entityMetadata: Record<string, string>;
  readonly pulseSeconds: number | null;
  /** Monotonic milliseconds. The provider checks it last, right before the first byte leaves. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

/**
 * delivered  the device took it, with proof
 * refused    the device answered no
 * not_sent   provably no byte of the command left
 * unknown    anything else: it may have arrived
 */
export type Delivery =
  | { readonly kind: 'delivered'; readonly observed: ObservedStatus | null }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'not_sent'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly reason: string };

export interface StateReport {
  readonly orgId: string;
  readonly entityId: string;
  readonly status: ObservedStatus;
  readonly source: string;
}

export interface ProviderContext {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly dataDir: string;
  /** Called when a device reports a state by itself. */
  readonly onState: (report: StateReport) => void;
}

/** An absent verb is the 501. A provider sends once and never repeats by itself. */
export interface Provider {
  readonly actions: { readonly [V in Verb]?: (command: Command) => Promise<Delivery> };
  health(integrationId: string): Health;
  /** What a device says of itself when the service starts; nothing where it can not know. */
  statesAtStart(entities: readonly { orgId: string; entityId: string }[]): StateReport[];
  close(): Promise<void>;
}

export interface ProviderDefinition {
  readonly manifest: ProviderManifest;
  create(context: ProviderContext): Provider;
}
