// Every change leaves one event, every refusal one more, and looking leaves none.
import type { OperationId } from '@lintel/contract/operations';
import { aimAt, expectedStatus, isRoleBound, perform, type Stage, scenarios } from './scenario.ts';
import { sessionActor } from './scenario-signin.ts';
import { changedTables, snapshotDatabase } from './scenario-snapshot.ts';
import {
  type Actor,
  createMember,
  createTenant,
  keyActor,
  type Operation,
  type Tenant,
} from './scenario-world.ts';
import type { Answer, TestApp } from './test-app.ts';
import { rootAdminId } from './test-world.ts';

interface EventRow {
  readonly id: string;
  readonly event_type: string;
  readonly outcome: string;
  readonly correlation_id: string | null;
  readonly details: Record<string, unknown>;
}

async function newEvents(app: TestApp, before: ReadonlySet<string>): Promise<EventRow[]> {
  return (await allEvents(app)).filter(({ id }) => !before.has(id));
}

const allEvents = (app: TestApp): Promise<EventRow[]> =>
  app.db.query<EventRow>('select id, event_type, outcome, correlation_id, details from audit_events');

interface Watched {
  readonly answer: Answer;
  readonly events: readonly EventRow[];
  readonly changed: readonly string[];
}

/** Sends one request and reports what it left behind anywhere in the database. */
export async function watch(app: TestApp, send: () => Promise<Answer>): Promise<Watched> {
  const before = new Set((await allEvents(app)).map(({ id }) => id));
  const snapshot = await snapshotDatabase(app.db);
  const answer = await send();
  const changed = changedTables(snapshot, await snapshotDatabase(app.db));
  return { answer, changed, events: await newEvents(app, before) };
}

function eventProblems({ answer, events }: Watched, wanted: { type: string; outcome: string }): string[] {
  const [event] = events;
  if (events.length !== 1 || event === undefined) {
    return [`${events.length} events instead of one: ${events.map((each) => each.event_type).join(', ')}`];
  }
  const correlation = answer.headers['x-request-id'];
  return [
    ...(event.event_type === wanted.type ? [] : [`event ${event.event_type} instead of ${wanted.type}`]),
    ...(event.outcome === wanted.outcome ? [] : [`outcome ${event.outcome} instead of ${wanted.outcome}`]),
    ...(event.correlation_id === correlation
      ? []
      : [`correlation id ${event.correlation_id} instead of ${String(correlation)}`]),
  ];
}

export interface AuditCheck {
  readonly app: TestApp;
  readonly operations: readonly Operation[];
  /** Makes the caller that the operation is meant for, in an organization of its own. */
  readonly stageFor: (operation: Operation) => Promise<Stage>;
}

/** A valid request of every operation: a change writes its event, a read writes none and changes nothing. */
export async function successViolations({ app, operations, stageFor }: AuditCheck): Promise<string[]> {
  const violations: string[] = [];
  for (const operation of operations) {
    const stage = await stageFor(operation);
    const prepared = await scenarios[operation.id].prepare(stage);
    const watched = await watch(app, () => perform(app, operation.id, stage.actor, prepared));
    const problems = successProblems(operation, watched);
    violations.push(...problems.map((problem) => `${operation.id}: ${problem}`));
  }
  return violations;
}

function successProblems(operation: Operation, watched: Watched): string[] {
  const { answer, events, changed } = watched;
  const wanted = expectedStatus(operation.id);
  if (answer.status !== wanted) return [`answered ${answer.status} instead of ${wanted}: ${answer.text}`];
  if (operation.audit !== null) {
    const told = eventProblems(watched, { type: operation.audit, outcome: 'succeeded' });
    // A read that is told of changes nothing but the log.
    if (operation.method === 'GET') return [...told, ...changed.map((table) => `changed ${table}`)];
    return [
      ...told,
      ...(changed.length === 0 && !changesElsewhere.has(operation.id) ? ['changed nothing'] : []),
    ];
  }
  return [
    ...(events.length === 0 ? [] : [`wrote ${events.map((event) => event.event_type).join(', ')}`]),
    ...changed.filter((table) => !isOwnNote(operation.id, table)).map((table) => `changed ${table}`),
  ];
}

/** What they change is at a device or service, not in the database. */
const changesElsewhere: ReadonlySet<OperationId> = new Set(['execute_integration_op']);

/** What an operation that changes nothing for others may still note down. */
const ownNotes: Partial<Record<OperationId, readonly string[]>> = {
  preview_invitation: ['identity.attempts'],
};

const isOwnNote = (id: OperationId, table: string): boolean => ownNotes[id]?.includes(table) ?? false;

/** The same requests by somebody without the role: one event says so, and nothing else changes. */
export async function denialViolations(app: TestApp, operations: readonly Operation[]): Promise<string[]> {
  const violations: string[] = [];
  const tenant = await createTenant(app, 'denied');
  for (const operation of operations.filter(isRoleBound)) {
    const actor = await outsider(app, tenant, operation);
    const stage = { app, tenant, actor: tenant.admin, disposable: false };
    const prepared = aimAt(operation, tenant.orgId, await scenarios[operation.id].prepare(stage));
    const watched = await watch(app, () => perform(app, operation.id, actor, prepared));
    const problems = denialProblems(operation, watched);
    violations.push(...problems.map((problem) => `${operation.id} denied: ${problem}`));
  }
  return violations;
}

/**
 * A key of the organization with a role that does not let it in; where membership is enough, with none. A person where
 * no key is looked at.
 */
async function outsider(app: TestApp, tenant: Tenant, { id, role, auth }: Operation): Promise<Actor> {
  const isMemberOnly = role === 'member' && scenarios[id].needs === undefined;
  if (auth === 'session')
    return sessionActor(app, await createMember(app, tenant, 'copilot:use'), 'a person without the role');
  return keyActor(app, tenant.orgId, rootAdminId, { scopedRoles: isMemberOnly ? [] : ['copilot:use'] });
}

function denialProblems(operation: Operation, watched: Watched): string[] {
  const { answer, changed, events } = watched;
  const left = changed.map((table) => `changed ${table}`);
  if (operation.org === 'path' && operation.role === 'member') {
    // Whoever has no role in it at all does not even learn that it exists, and there is nobody to tell.
    const unknown = answer.status === 404 && events.length === 0 ? [] : [`answered ${answer.status}`];
    return [...unknown, ...left];
  }
  if (answer.status !== 403) return [`answered ${answer.status}: ${answer.text}`];
  return [
    ...eventProblems(watched, { type: operation.audit ?? 'access.denied', outcome: 'denied' }),
    ...left,
  ];
}
