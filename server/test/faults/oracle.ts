import type { TestDatabase } from '../support/test-database.ts';

/** What a device wrote down when it was told something. Times are of the wall clock, in milliseconds. */
export interface DoorCommand {
  readonly at: number;
  readonly entityId: string;
  /** Where the device is told it. */
  readonly intentId?: string;
  readonly word?: string;
}

export interface IntentRow {
  readonly id: string;
  readonly entityId: string;
  readonly correlationId: string;
  readonly state: string;
  readonly createdAt: number;
  readonly notAfter: number;
}

export interface EventRow {
  readonly attemptId: string;
  readonly correlationId: string;
  readonly outcome: string;
}

/** A caller's one wish: all requests with this key. Its entity has no other wish while it lasts. */
export interface Wish {
  readonly key: string;
  readonly entityId: string;
  readonly at: number;
  /** Of the answers 200. */
  readonly succeeded: readonly string[];
}

export interface Evidence {
  readonly commands: readonly DoorCommand[];
  readonly intents: readonly IntentRow[];
  readonly events: readonly EventRow[];
  readonly wishes: readonly Wish[];
}

/** Commits and log lines are stamped by different processes of one machine. */
const slackMs = 50;
/** What left before its deadline may be written down a little after it, on a machine with much to do. */
const underwayMs = 1_000;

/** design/reliability.md 3, ORACLE (i) to (v). Empty when all of it holds. */
export function violationsOf(evidence: Evidence): string[] {
  return [
    ...unasked(evidence),
    ...repeated(evidence),
    ...unaudited(evidence),
    ...invented(evidence),
    ...evidence.intents
      .filter(({ state }) => state === 'dispatching')
      .map(({ id }) => `(iii) ${id} has no outcome`),
  ];
}

const mayBeOf = (command: DoorCommand, { id, entityId, createdAt }: IntentRow): boolean =>
  entityId === command.entityId &&
  (command.intentId === undefined ? createdAt - slackMs <= command.at : id === command.intentId);

/**
 * Which command may have come from which intent, for as many as possible: each command, in the order of time, takes the
 * intent with the first deadline. Devices are not told an id, so a single assignment must not be asked two things: when
 * each command has an intent in one, and each success has a command in another, there is one in which both are true.
 */
function assign(
  commands: readonly DoorCommand[],
  intents: readonly IntentRow[],
): Map<DoorCommand, IntentRow> {
  const free = Map.groupBy(
    intents.toSorted((a, b) => a.notAfter - b.notAfter),
    ({ entityId }) => entityId,
  );
  const assigned = new Map<DoorCommand, IntentRow>();
  for (const command of commands.toSorted((a, b) => a.at - b.at)) {
    const candidates = free.get(command.entityId) ?? [];
    const index = candidates.findIndex(
      (intent) => mayBeOf(command, intent) && command.at <= intent.notAfter + underwayMs,
    );
    const [intent] = index === -1 ? [] : candidates.splice(index, 1);
    if (intent !== undefined) assigned.set(command, intent);
  }
  return assigned;
}

/** (i), (ii) and (v): each command belongs to one intent of its own, and came in its time. */
function unasked({ commands, intents }: Evidence): string[] {
  const sendable = intents.filter(({ state }) => state !== 'not_sent');
  const assigned = assign(commands, sendable);
  const taken = new Set(assigned.values());
  return commands
    .filter((command) => !assigned.has(command))
    .map((command) => {
      const before = sendable.filter((intent) => mayBeOf(command, intent));
      return `${reasonOf(command, before, taken)} (${command.entityId} at ${command.at})`;
    });
}

function reasonOf(
  { at, intentId }: DoorCommand,
  before: readonly IntentRow[],
  taken: ReadonlySet<IntentRow>,
): string {
  if (before.some((intent) => !taken.has(intent))) return '(v) a command after its deadline';
  const had = before.some(({ notAfter }) => intentId !== undefined || at <= notAfter + underwayMs);
  return had ? '(i) a second command for one intent' : '(ii) a command without an intent';
}

/** (i) at most one command for a key, whatever the database says. */
function repeated({ commands, wishes }: Evidence): string[] {
  const byEntity = Map.groupBy(wishes, ({ entityId }) => entityId);
  const counts = new Map<Wish, number>();
  for (const { at, entityId } of commands) {
    const wish = (byEntity.get(entityId) ?? [])
      .toSorted((a, b) => a.at - b.at)
      .findLast((candidate) => candidate.at <= at);
    if (wish !== undefined) counts.set(wish, (counts.get(wish) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > 1)
    .map(([{ key, entityId }, count]) => `(i) ${count} commands for the key ${key} (${entityId})`);
}

/** (ii) every intent that has ended, so every command, is in the audit log exactly once. */
function unaudited({ intents, events }: Evidence): string[] {
  const byAttempt = Map.groupBy(events, ({ attemptId }) => attemptId);
  return intents.flatMap(({ id, state, correlationId }) => {
    const found = byAttempt.get(id) ?? [];
    if (found.length !== (state === 'dispatching' ? 0 : 1)) return [`(ii) ${id} has ${found.length} events`];
    return found.every((event) => event.correlationId === correlationId)
      ? []
      : [`(ii) the event of ${id} has another correlation id`];
  });
}

/** (iv) no success without a command, and none told to a caller that is not one. */
function invented({ commands, intents, wishes }: Evidence): string[] {
  const states = new Map(intents.map(({ id, state }) => [id, state]));
  const succeeded = intents.filter(({ state }) => state === 'succeeded');
  const sent = new Set(assign(commands, succeeded).values());
  return [
    ...succeeded
      .filter((intent) => !sent.has(intent))
      .map(({ id }) => `(iv) ${id} is a success without a command`),
    ...wishes
      .flatMap(({ succeeded }) => succeeded)
      .filter((id) => states.get(id) !== 'succeeded')
      .map((id) => `(iv) ${id} was answered as a success and is ${states.get(id) ?? 'unheard of'}`),
  ];
}

export async function readIntents(db: TestDatabase, orgId: string): Promise<IntentRow[]> {
  return await db.query<IntentRow & Record<string, unknown>>(
    `select id, entity_id as "entityId", correlation_id as "correlationId", state,
       extract(epoch from created_at)::float8 * 1000 as "createdAt",
       extract(epoch from not_after)::float8 * 1000 as "notAfter"
     from intents where org_id = $1 order by created_at, id`,
    [orgId],
  );
}

export async function readEvents(db: TestDatabase, orgId: string): Promise<EventRow[]> {
  return await db.query<EventRow & Record<string, unknown>>(
    `select details ->> 'attempt_id' as "attemptId", correlation_id as "correlationId", outcome from audit_events
     where org_id = $1 and event_type = 'entity.action' and details ? 'attempt_id'`,
    [orgId],
  );
}
