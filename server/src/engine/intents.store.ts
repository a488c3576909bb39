import { randomInt } from 'node:crypto';
import type { AuditOutcome } from '@lintel/contract/events';
import type { Queryable, Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { Actor } from '../kernel/call.ts';
import { ulid } from '../kernel/ulid.ts';
import type { CounterKey } from './counters.rules.ts';

export type IntentState = 'dispatching' | 'succeeded' | 'refused' | 'not_sent' | 'unknown';

export interface NewIntent {
  readonly orgId: string;
  readonly epoch: number;
  readonly credentialExpiresAt: Date | null;
  readonly id: string;
  readonly entityId: string;
  readonly deviceId: string;
  readonly integrationId: string;
  readonly actionId: string;
  readonly principalKind: string;
  readonly principalId: string;
  readonly actor: Actor;
  readonly source: string;
  readonly details: Record<string, unknown>;
  readonly correlationId: string;
  readonly idempotencyKey: string | null;
  readonly fingerprint: Buffer;
  readonly confirmationHash: Buffer | null;
  /** Of the approval that is spent; null where none is needed. */
  readonly approval: Buffer | null;
  readonly deadlineMs: number;
  readonly minIntervalMs: number;
  /** For a portal: what it opens through, in its order. One of them must be ready, and is reserved for it. */
  readonly openers: readonly OpenerInterval[];
  readonly counters: readonly CounterKey[];
  /** When the service must close the door again; null when it need not. */
  readonly closeAfterMs: number | null;
}

export interface OpenerInterval {
  readonly entityId: string;
  readonly integrationId: string;
  readonly minIntervalMs: number;
}

export interface StoredIntent {
  readonly id: string;
  readonly state: IntentState;
  readonly result: Record<string, unknown> | null;
  readonly sameRequest: boolean;
}

export type OpenVerdict =
  | { readonly kind: 'opened' }
  | { readonly kind: 'stale' }
  | { readonly kind: 'expired' }
  | { readonly kind: 'exists'; readonly stored: StoredIntent }
  | { readonly kind: 'confirmation_invalid' }
  | { readonly kind: 'approval_missing' }
  | { readonly kind: 'interval'; readonly waitMs: number };

interface RawVerdict {
  out_id: string;
  verdict: OpenVerdict['kind'];
  existing_id: string;
  existing_state: IntentState;
  existing_result: Record<string, unknown> | null;
  same_request: boolean;
  wait_ms: number;
}

/**
 * T1 for many at once, in their order. See migrations/0015: one transaction in one round trip. What a database that did
 * not answer in time may have committed after all, recovery finds.
 */
export async function openIntents(db: Queryable, intents: readonly NewIntent[]): Promise<OpenVerdict[]> {
  const query = sql`
    select * from open_intents(${JSON.stringify(intents.map(intentRow))}, ${randomInt(counterStripes)})`;
  const rows = await db.query<RawVerdict>({ ...query, isUrgent: true });
  const byId = new Map(rows.map((row) => [row.out_id, verdictOf(row)]));
  return intents.map(({ id }) => byId.get(id) ?? { kind: 'stale' });
}

/** Counters are striped, so that one busy organization does not queue on one row. */
const counterStripes = 16;

function intentRow(intent: NewIntent): Record<string, unknown> {
  const { confirmationHash, approval, minIntervalMs, closeAfterMs } = intent;
  const openers = intent.openers.some((opener) => opener.minIntervalMs > 0)
    ? intent.openers.map((opener) => ({
        entity_id: opener.entityId,
        integration_id: opener.integrationId,
        min_interval_ms: opener.minIntervalMs,
      }))
    : [];
  const isPlain = [confirmationHash, approval, closeAfterMs].every((part) => part === null);
  return {
    id: intent.id,
    org_id: intent.orgId,
    epoch: intent.epoch,
    expires_at: intent.credentialExpiresAt,
    entity_id: intent.entityId,
    device_id: intent.deviceId,
    integration_id: intent.integrationId,
    action_id: intent.actionId,
    principal_kind: intent.principalKind,
    principal_id: intent.principalId,
    actor: intent.actor,
    source: intent.source,
    details: intent.details,
    correlation_id: intent.correlationId,
    idempotency_key: intent.idempotencyKey,
    fingerprint: intent.fingerprint.toString('hex'),
    deadline_ms: intent.deadlineMs,
    counters: intent.counters,
    plain: isPlain && minIntervalMs === 0 && openers.length === 0,
    confirmation: confirmationHash?.toString('hex'),
    needs_approval: approval !== null,
    approval: approval?.toString('hex'),
    openers,
    min_interval_ms: minIntervalMs,
    close_after_ms: closeAfterMs,
  };
}

function verdictOf(row: RawVerdict): OpenVerdict {
  switch (row.verdict) {
    case 'exists':
      return {
        kind: 'exists',
        stored: {
          id: row.existing_id,
          state: row.existing_state,
          result: row.existing_result,
          sameRequest: row.same_request,
        },
      };
    case 'interval':
      return { kind: 'interval', waitMs: row.wait_ms };
    case 'opened':
    case 'stale':
    case 'expired':
    case 'confirmation_invalid':
    case 'approval_missing':
      return { kind: row.verdict };
  }
}

export interface FinishedIntent {
  readonly orgId: string;
  readonly id: string;
  readonly state: Exclude<IntentState, 'dispatching'>;
  readonly result: Record<string, unknown>;
  /** The command provably never left, so the same key may be tried again. */
  readonly releaseKey: boolean;
  readonly outcome: AuditOutcome;
  readonly details: Record<string, unknown>;
  readonly status: 'open' | 'closed' | 'unknown' | null;
  readonly statusSource: string;
}

/** T2 for many at once. Answers the state that stands for each: ours, or what recovery made of it before us. */
export async function finishIntents(
  db: Queryable,
  finished: readonly FinishedIntent[],
): Promise<Map<string, IntentState>> {
  const rows = finished.map((intent, place) => ({
    org_id: intent.orgId,
    id: intent.id,
    state: intent.state,
    result: intent.result,
    release_key: intent.releaseKey,
    event_id: ulid(),
    outcome: intent.outcome,
    details: intent.details,
    status: intent.status,
    status_source: intent.statusSource,
    place,
  }));
  const query = sql`
    select out_id as id, out_state as state from finish_intents(${JSON.stringify(rows)})`;
  const states = await db.query<{ id: string; state: IntentState }>({ ...query, isUrgent: true });
  return new Map(states.map((row) => [row.id, row.state]));
}

/**
 * Intents whose node is gone: past their deadline with a margin, and still without an outcome. Looked for among the
 * young ones while the service runs, and further back when it starts.
 */
export function listOrphans(
  tx: Tx,
  maxAgeMinutes: number,
  limit: number,
): Promise<{ orgId: string; id: string }[]> {
  return tx.query(sql`
    select org_id as "orgId", id from intents
    where created_at > now() - make_interval(mins => ${maxAgeMinutes})
      and state = 'dispatching' and not_after < now() - interval '5 seconds' limit ${limit}`);
}

export async function findStoredIntent(
  tx: Tx,
  orgId: string,
  principalId: string,
  key: string,
  fingerprint: Buffer,
): Promise<StoredIntent | null> {
  return tx.maybeOne<StoredIntent>(sql`
    select id, state, result, fingerprint = ${fingerprint} as "sameRequest" from intents
    where org_id = ${orgId} and principal_id = ${principalId} and idempotency_key = ${key}`);
}

/** A key is kept for 24 hours; after that it may be used again. */
export function forgetOldKeys(tx: Tx): Promise<number> {
  return tx.execute(sql`
    update intents set idempotency_key = null
    where idempotency_key is not null and created_at < now() - interval '24 hours' and state <> 'dispatching'`);
}

export async function insertConfirmation(
  tx: Tx,
  proof: { orgId: string; tokenHash: Buffer; fingerprint: Buffer; lifetimeSeconds: number },
): Promise<Date> {
  const row = await tx.one<{ expires_at: Date }>(sql`
    insert into confirmations (org_id, token_hash, fingerprint, expires_at)
    values (${proof.orgId}, ${proof.tokenHash}, ${proof.fingerprint}, now() + make_interval(secs => ${proof.lifetimeSeconds}))
    returning expires_at`);
  return row.expires_at;
}

export function deleteExpiredConfirmations(tx: Tx): Promise<number> {
  return tx.execute(sql`delete from confirmations where expires_at < now()`);
}

/** What was counted today and this month, UTC. */
export function readCounters(
  tx: Tx,
  orgId: string,
  keys: readonly CounterKey[],
): Promise<{ key: CounterKey; day: number; month: number }[]> {
  return tx.query(sql`
    select key, coalesce(sum(count) filter (where day = today), 0)::bigint as day, sum(count)::bigint as month
    from usage_counters, (select (now() at time zone 'UTC')::date as today) as clock
    where org_id = ${orgId} and key = any (${keys}) and day >= date_trunc('month', today)::date
    group by key`);
}

export async function readyInMs(
  tx: Tx,
  orgId: string,
  integrationId: string,
  minIntervalMs: number,
): Promise<number> {
  const row = await tx.maybeOne<{ wait: number }>(sql`
    select greatest(0, ceil(extract(epoch from (last_dispatch_at - now())) * 1000) + ${minIntervalMs})::int as wait
    from dispatch_intervals where org_id = ${orgId} and integration_id = ${integrationId}`);
  return minIntervalMs === 0 ? 0 : (row?.wait ?? 0);
}
