import type { Clock } from '../../kernel/clock.ts';
import type { EntityBinding, ObservedStatus } from '../provider.ts';
import { groupRead, parseGroupAddress, type Telegram } from './knx.wire.ts';
import { createExpectations, type Expectations } from './knx-expectations.ts';

export interface StatusOptions {
  readonly clock: Clock;
  readonly onState: (entityId: string, status: ObservedStatus) => void;
  readonly ask: (cemi: Buffer, sendBeforeMs: number, urgent: boolean) => Promise<void>;
}

/** What a command has seen of its actuator. */
export interface Proof {
  /** The wanted status as soon as it is reported, else the last that was, else null. */
  observed(beforeMs: number): Promise<ObservedStatus | null>;
  cancel(): void;
}

/** The group addresses on which actuators report their state. */
export interface StatusObjects {
  bind(entities: readonly EntityBinding[]): void;
  take(telegram: Telegram): void;
  readAll(): void;
  loseSight(): void;
  watch(entity: EntityBinding, wanted: ObservedStatus): Proof;
}

interface Report {
  readonly entityId: string;
  readonly status: ObservedStatus;
}

interface StatusState {
  readonly options: StatusOptions;
  readonly reports: Expectations<Report>;
  readonly known: Map<string, ObservedStatus>;
  entities: readonly EntityBinding[];
}

/** An actuator reports by itself within this time; after it, it is asked. */
const SPONTANEOUS_WITHIN_MS = 500;
const RESPONSE_WITHIN_MS = 1_500;
const READ_WITHIN_MS = 60_000;

const statusGroupOf = ({ metadata }: EntityBinding): number | null =>
  parseGroupAddress(metadata.status_address ?? '');

export function createStatusObjects(options: StatusOptions): StatusObjects {
  const state: StatusState = {
    options,
    reports: createExpectations(),
    known: new Map(),
    entities: [],
  };
  return {
    bind: (entities) => bind(state, entities),
    take: (telegram) => take(state, telegram),
    readAll: () => read(state, state.entities),
    loseSight() {
      for (const entity of state.entities) {
        if (statusGroupOf(entity) !== null) report(state, entity.entityId, 'unknown');
      }
    },
    watch: (entity, wanted) => watch(state, entity, wanted),
  };
}

function bind(state: StatusState, entities: readonly EntityBinding[]): void {
  const before = new Map(state.entities.map((entity) => [entity.entityId, statusGroupOf(entity)]));
  state.entities = entities;
  const changed = entities.filter((entity) => before.get(entity.entityId) !== statusGroupOf(entity));
  for (const { entityId } of changed) state.known.delete(entityId);
  read(state, changed);
}

/** Questions wait behind all commands, so many of them delay none. */
function read(state: StatusState, entities: readonly EntityBinding[]): void {
  const { ask, clock } = state.options;
  const groups = new Set(entities.map(statusGroupOf).filter((group) => group !== null));
  for (const group of groups) void ask(groupRead(group), clock.monotonicMs() + READ_WITHIN_MS, false);
}

function take(state: StatusState, telegram: Telegram): void {
  if (telegram.service === 'read') return;
  for (const entity of state.entities) {
    if (statusGroupOf(entity) !== telegram.group) continue;
    const isOpen = telegram.value !== (entity.metadata.invert === 'true');
    report(state, entity.entityId, isOpen ? 'open' : 'closed');
  }
}

function report(state: StatusState, entityId: string, status: ObservedStatus): void {
  state.reports.tell({ entityId, status });
  if (state.known.get(entityId) === status) return;
  state.known.set(entityId, status);
  state.options.onState(entityId, status);
}

function watch(state: StatusState, entity: EntityBinding, wanted: ObservedStatus): Proof {
  const { clock, ask } = state.options;
  const group = statusGroupOf(entity);
  let last: ObservedStatus | null = null;
  const seen = state.reports.expect(({ entityId, status }) => {
    if (entityId !== entity.entityId) return null;
    last = status;
    return status === wanted ? status : null;
  });
  const within = (ms: number, beforeMs: number): Promise<ObservedStatus | null> =>
    seen.within(Math.max(0, Math.min(ms, beforeMs - clock.monotonicMs())));
  return {
    async observed(beforeMs) {
      if (group === null) return null;
      if ((await within(SPONTANEOUS_WITHIN_MS, beforeMs)) !== null) return wanted;
      void ask(groupRead(group), beforeMs, true);
      return (await within(RESPONSE_WITHIN_MS, beforeMs)) ?? last;
    },
    cancel: seen.cancel,
  };
}
