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
  /** Regular expressions; an id of another form is refused when it is written. */
  readonly deviceExternalIdPattern?: string;
  readonly entityExternalIdPattern?: string;
  /**
   * Where a device names its hardware world-wide: who made it and its id there. The same for all providers that reach
   * hardware of that maker. Absent where an id means something only at its far side, such as a topic or an address.
   */
  readonly hardware?: (device: DeviceIdentity) => Hardware | null;
  readonly defaultMinIntervalMs: number;
  /** Who ends a pulse: the device where it can, else the service by a durable job. The device unless said. */
  readonly pulseBy?: PulseOwner | ((subject: PulseSubject) => PulseOwner);
  /** Seconds a door stays open when nobody says otherwise; null when the provider leaves it open. */
  readonly defaultPulseSeconds: (
    config: Record<string, unknown>,
    entityType: string,
    deviceMetadata?: Record<string, unknown>,
  ) => number | null;
  /**
   * For a provider without hardware of its own, whose devices are made of entities of other integrations: what a device
   * is made of, null for one that has nothing to open.
   */
  readonly composition?: (deviceMetadata: Record<string, unknown>) => Composition | null;
  /** `none`: it connects to nothing, so every node of a cluster has it. Else one node at a time holds the connection. */
  readonly connection?: 'none';
  /** What an operator can ask of it beside its actions. `connection.test` is there without being named. */
  readonly ops?: readonly OpDefinition[];
  /** Where the id of a discovered device goes when it is added. Absent where nothing can be discovered. */
  readonly discovery?: DiscoveryRule;
}

export interface DeviceIdentity {
  readonly externalId: string | null;
  readonly deviceMetadata: Readonly<Record<string, unknown>>;
}

export interface Hardware {
  readonly maker: string;
  readonly id: string;
}

export interface Part {
  readonly id: string;
  /** JSON pointer inside the device metadata, for whoever is told that it does not fit. */
  readonly path: string;
}

export interface Composition {
  readonly entryKind: string;
  /** Entities in the order in which they are tried. */
  readonly openers: readonly Part[];
  /** Entities that are switched on with an open. */
  readonly lights: readonly Part[];
  /** Devices. */
  readonly cameras: readonly Part[];
}

export type PulseOwner = 'device' | 'server';

/** What decides who ends a pulse, where it is not the same for all entities. */
export interface PulseSubject {
  readonly entityType: string;
  readonly externalId: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly config: Readonly<Record<string, unknown>>;
}

/**
 * read    only looks
 * update  changes a setting at the far side; every run is an event
 * secret  its answer is a secret; every run is an event, as every read of a secret
 */
export type OpEffect = 'read' | 'update' | 'secret';

/** An op looks, or sets up. It never moves a door: the only way to that is an action. */
export interface OpDefinition {
  readonly id: string;
  readonly label: LocalizedText;
  readonly description: string;
  /** A closed object. A member that must not be in an event is `writeOnly`. */
  readonly input: TObject;
  readonly effect: OpEffect;
}

export interface OpLimits {
  /** Monotonic milliseconds. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

/** As a delivery: `not_sent` only with proof that no byte left. */
export type OpResult<T = unknown> =
  | { readonly kind: 'done'; readonly result: T }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'not_sent'; readonly reason: string; readonly retryAfterMs?: number }
  | { readonly kind: 'unknown'; readonly reason: string };

/** The input fits the schema of the definition. */
export type Op = (input: Readonly<Record<string, unknown>>, limits: OpLimits) => Promise<OpResult>;

export type DiscoveryRule = 'device.external_id' | 'entity.external_id' | `device.device_metadata.${string}`;

export interface DiscoveredDevice {
  readonly externalId: string;
  readonly name: string;
  readonly model?: string;
  readonly channelCount?: number;
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
  | { readonly kind: 'not_sent'; readonly reason: string; readonly retryAfterMs?: number }
  | { readonly kind: 'unknown'; readonly reason: string };

/** One integration, as its provider connects to it. */
export interface Link {
  readonly orgId: string;
  readonly integrationId: string;
  readonly config: Record<string, unknown>;
  readonly secrets: Readonly<Record<string, Secret>>;
}

/** How a provider without hardware reaches entities of other integrations of its organization. */
export interface Relay {
  /**
   * A part of the command, as a command of its own: with its own intent, outcome and audit event. It does not throw.
   * Null when the entity takes no such command now: it is gone, paused, or does not offer it.
   */
  send(
    command: Command,
    entityId: string,
    verb: 'open' | 'close',
    pulseSeconds: number | null,
  ): Promise<Delivery | null>;
  /** Of the integration that the entity belongs to. */
  health(entityId: string): Health;
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
  /** Absent where there is no engine to send through. */
  readonly relay?: Relay | undefined;
}

/**
 * A live connection of one integration. It reconnects by itself, with back-off and jitter; it sends a command once and
 * never repeats it.
 */
export interface Connection {
  readonly actions: { readonly [V in Verb]?: (command: Command) => Promise<Delivery> };
  /**
   * By id, those of the manifest; one this connection does not have is the 501. `connection.test` reports the health
   * unless there is one here that really asks the far side.
   */
  readonly ops?: Readonly<Record<string, Op>>;
  /** Absent where this connection can not look around. */
  discover?(limits: OpLimits): Promise<OpResult<readonly DiscoveredDevice[]>>;
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
