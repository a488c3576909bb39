import type { LocalizedText } from '@lintel/contract/common';
import type { TObject } from 'typebox';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Secret } from '../kernel/secret.ts';
import type { DialIn } from './transport/dial-in.ts';

export type Verb = 'open' | 'close' | 'toggle';
export type Health = 'ok' | 'reduced' | 'error';
export type ObservedStatus = 'open' | 'closed' | 'unknown';

/** Whether a record of this provider carries an id of the far side. */
export type ExternalIdRule = 'required' | 'optional' | 'refused';

/**
 * A provider describes itself as data: validation, documents and forms are made from it. All schemas are closed
 * objects; entity metadata values are strings.
 */
export interface ProviderManifest {
  readonly type: string;
  readonly label: LocalizedText;
  readonly config: TObject;
  readonly secrets: TObject;
  readonly deviceMetadata: TObject;
  readonly entityMetadata: TObject;
  /** What its entities can do. An absent verb is the 501; with `toggle` the device has one of its own. */
  readonly actions: readonly Verb[];
  readonly deviceExternalId: ExternalIdRule;
  readonly entityExternalId: ExternalIdRule;
  readonly defaultMinIntervalMs: number;
  /** Who ends a pulse: the device where it can, else the service by a durable job. The device unless said. */
  readonly pulseBy?: 'device' | 'server';
  /** Seconds a door stays open when nobody says otherwise; null when the provider leaves it open. */
  readonly defaultPulseSeconds: (config: Record<string, unknown>, entityType: string) => number | null;
}

/** An entity as its provider needs to know it. */
export interface EntityBinding {
  readonly entityId: string;
  readonly entityType: string;
  readonly externalId: string | null;
  readonly metadata: Record<string, string>;
  readonly deviceId: string;
  readonly deviceExternalId: string | null;
  readonly deviceMetadata: Record<string, unknown>;
}

export interface Command {
  readonly intentId: string;
  readonly entity: EntityBinding;
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

/** One integration, as its provider connects to it. */
export interface Link {
  readonly orgId: string;
  readonly integrationId: string;
  readonly config: Record<string, unknown>;
  readonly secrets: Readonly<Record<string, Secret>>;
}

export interface ProviderContext {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where a provider may keep files of its own. */
  readonly dataDir: string;
  /** Called when a device reports a state by itself. */
  readonly onState: (entityId: string, status: ObservedStatus) => void;
  /** For devices that connect to the service. Absent where nothing can dial in. */
  readonly dialIn?: DialIn | undefined;
}

/**
 * A live connection of one integration. It reconnects by itself, with back-off and jitter; it sends a command once and
 * never repeats it.
 */
export interface Connection {
  readonly actions: { readonly [V in Verb]?: (command: Command) => Promise<Delivery> };
  health(): Health;
  /** The entities there are now: called once after connecting and after every change of them. */
  bind(entities: readonly EntityBinding[]): void;
  close(): Promise<void>;
}

export interface ProviderDefinition {
  readonly manifest: ProviderManifest;
  /** Returns at once; a far side that is not there yet is a matter of health, not an error. */
  connect(link: Link, context: ProviderContext): Connection;
}
