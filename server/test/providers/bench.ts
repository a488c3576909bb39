import type { Answer } from '../support/test-app.ts';

/** A provider over one of its transports, with the far side it is tried against. */
export interface ProviderBench {
  /** As registered. */
  readonly provider: string;
  readonly transport: string;
  /** What the service talks to: `real <program>`, or `twin` for one of test/support/peers. */
  readonly peer: string;
  start(stage: Stage): Promise<FarSide>;
}

/** The running service, as a bench may need to know it. */
export interface Stage {
  /** Where it listens, for devices that dial in. */
  readonly origin: string;
  readonly dataDir: string;
  readonly orgId: string;
  api(method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown): Promise<Answer>;
}

/** What the far side is in the records of the service; sent by POST as it stands. */
export interface Records {
  readonly integration: {
    readonly config: Readonly<Record<string, unknown>>;
    readonly secrets?: Readonly<Record<string, string>>;
  };
  readonly device: {
    readonly external_id?: string;
    readonly device_metadata?: Readonly<Record<string, unknown>>;
  };
  readonly entity: {
    readonly entity_type: 'door' | 'switch';
    readonly external_id?: string;
    readonly metadata?: Readonly<Record<string, string>>;
  };
}

export interface RecordIds {
  readonly integrationId: string;
  readonly deviceId: string;
  readonly entityId: string;
}

export interface FarSide {
  readonly records: Records;
  /** An action it does not have. */
  readonly cannot: string;
  /** Once the records exist: a device that dials in needs its address. */
  connect?(ids: RecordIds): Promise<void>;
  /** What its health is at best; `ok` unless said. */
  readonly bestHealth?: 'reduced';
  /** Every opening the far side was told, in its own words. */
  opens(): readonly string[];
  /** Null where there is nothing to open. */
  readonly faults: FarFaults | null;
  /** As when its power goes. */
  stop(): Promise<void>;
  restart(): Promise<void>;
  close(): Promise<void>;
}

export interface FarFaults {
  /** It acts, and its answer does not arrive. */
  loseReply(lost: boolean): void | Promise<void>;
  /** It says no. Absent where its protocol has no way to. */
  refuse?(refusing: boolean): void | Promise<void>;
}
