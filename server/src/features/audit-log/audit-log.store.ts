import type { ActorKind, AuditOutcome, AuditSource } from '@lintel/contract/events';
import type { Tx } from '../../db/database.ts';
import { everyFilter } from '../../db/list-filters.ts';
import { likeContains, type SqlQuery, sql } from '../../db/sql.ts';
import type { CursorPosition } from './audit-cursor.rules.ts';
import type { AuditRange } from './audit-log.rules.ts';

export interface AuditEvent {
  readonly id: string;
  readonly orgId: string;
  readonly occurredAt: Date;
  /** occurredAt with all its digits. */
  readonly position: string;
  readonly eventType: string;
  readonly outcome: AuditOutcome;
  readonly source: AuditSource;
  readonly actorKind: ActorKind;
  readonly actorUserId: string | null;
  readonly actorAgentId: string | null;
  readonly actorApiKeyId: string | null;
  readonly actorGuestId: string | null;
  readonly resourceType: string | null;
  readonly resourceId: string | null;
  readonly correlationId: string | null;
  readonly details: Record<string, unknown>;
}

/** An absent member filters nothing. */
export interface AuditFilters {
  readonly eventType?: string | undefined;
  readonly outcome?: string | undefined;
  readonly resourceType?: string | undefined;
  readonly resourceId?: string | undefined;
  readonly actorUserId?: string | undefined;
  readonly actorGuestId?: string | undefined;
  readonly actorKind?: string | undefined;
  readonly correlationId?: string | undefined;
  readonly targetId?: string | undefined;
  readonly resourceName?: string | undefined;
  readonly doorName?: string | undefined;
}

const columns = sql`
  e.id, e.org_id as "orgId", e.occurred_at as "occurredAt",
  to_char(e.occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as position,
  e.event_type as "eventType", e.outcome, e.source, e.actor_kind as "actorKind", e.actor_user_id as "actorUserId",
  e.actor_agent_id as "actorAgentId", e.actor_api_key_id as "actorApiKeyId", e.actor_guest_id as "actorGuestId",
  e.resource_type as "resourceType", e.resource_id as "resourceId", e.correlation_id as "correlationId", e.details`;

/**
 * Newest first. Each organization is read in the order of its key and only as far as one page needs; a plain
 * `org_id = any (…)` would sort the whole window of all of them.
 */
export function listEvents(
  tx: Tx,
  orgIds: readonly string[],
  filters: AuditFilters,
  range: AuditRange,
  page: { after: CursorPosition | null; count: number },
): Promise<AuditEvent[]> {
  const where = everyFilter(
    sql`e.org_id = o.id and e.occurred_at >= ${range.from}`,
    range.until && sql`e.occurred_at < ${range.until}`,
    page.after && sql`(e.occurred_at, e.id) < (${page.after.occurredAt}::timestamptz, ${page.after.id})`,
    ...conditionsOf(filters),
  );
  return tx.query<AuditEvent>(sql`
    select ${columns} from unnest(${orgIds}::text[]) as o (id) cross join lateral (
      select * from audit_events e where ${where} order by e.occurred_at desc, e.id desc limit ${page.count}
    ) e
    order by e.occurred_at desc, e.id desc limit ${page.count}`);
}

function conditionsOf(filters: AuditFilters): (SqlQuery | null)[] {
  return [
    equals(sql`e.event_type`, filters.eventType),
    equals(sql`e.outcome`, filters.outcome),
    equals(sql`e.resource_type`, filters.resourceType),
    equals(sql`e.resource_id`, filters.resourceId),
    equals(sql`e.actor_user_id`, filters.actorUserId),
    equals(sql`e.actor_guest_id`, filters.actorGuestId),
    equals(sql`e.actor_kind`, filters.actorKind),
    equals(sql`e.correlation_id`, filters.correlationId),
    equals(sql`e.details ->> 'public_portal_id'`, filters.targetId),
    names(sql`e.details -> 'resource_name'`, filters.resourceName),
    names(sql`e.details -> 'door_name'`, filters.doorName),
  ];
}

function equals(column: SqlQuery, value: string | undefined): SqlQuery | null {
  return value === undefined ? null : sql`${column} = ${value}`;
}

/** A name in the details is a text, or a map from locale to text. */
function names(member: SqlQuery, part: string | undefined): SqlQuery | null {
  if (part === undefined) return null;
  const pattern = likeContains(part.normalize('NFC'));
  return sql`case jsonb_typeof(${member})
    when 'object' then exists (select from jsonb_each_text(${member}) n where n.value ilike ${pattern})
    else ${member} #>> '{}' ilike ${pattern} end`;
}

/** The organization and all below it, deleted ones too: what happened there stays true. */
export async function subtreeIds(tx: Tx, orgId: string): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(sql`
    select o.id from orgs o where o.path @> array[${orgId}::text] order by o.id`);
  return rows.map((row) => row.id);
}
