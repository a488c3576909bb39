import type { AuditOutcome, AuditSource, EventType } from '@lintel/contract/events';
import type { Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { type Actor, actorOf, type Call } from '../kernel/call.ts';
import { ulid } from '../kernel/ulid.ts';

export interface AuditEntry {
  readonly orgId: string;
  readonly type: EventType;
  readonly outcome?: AuditOutcome;
  readonly resource?: { readonly type: string; readonly id: string; readonly name?: string | null };
  readonly details?: Record<string, unknown>;
}

/** Who did it, in whose request. */
export interface AuditOrigin {
  readonly actor: Actor;
  readonly source: AuditSource;
  readonly correlationId: string;
}

export function originOf(call: Call): AuditOrigin {
  const actor = call.actor ?? actorOf(call.principal);
  return { actor, source: call.source, correlationId: call.correlationId };
}

/** Writes one event in the transaction of the change it reports. Returns the event's id. */
export async function recordEvent(tx: Tx, origin: AuditOrigin, entry: AuditEntry): Promise<string> {
  const id = ulid();
  const { actor } = origin;
  const details = {
    ...(entry.resource?.name ? { resource_name: entry.resource.name } : {}),
    ...entry.details,
  };
  await tx.execute(sql`
    insert into audit_events (org_id, id, event_type, outcome, source, actor_kind, actor_user_id, actor_agent_id,
      actor_api_key_id, actor_guest_id, resource_type, resource_id, correlation_id, details)
    values (${entry.orgId}, ${id}, ${entry.type}, ${entry.outcome ?? 'succeeded'}, ${origin.source}, ${actor.kind},
      ${actor.userId}, ${actor.agentId}, ${actor.apiKeyId}, ${actor.guestId},
      ${entry.resource?.type ?? null}, ${entry.resource?.id ?? null}, ${origin.correlationId}, ${JSON.stringify(details)})`);
  return id;
}
