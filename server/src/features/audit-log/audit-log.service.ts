import type { Database } from '../../db/database.ts';
import { invalid } from '../../kernel/app-error.ts';
import { type Call, type OrgScope, principalOf } from '../../kernel/call.ts';
import type { Clock } from '../../kernel/clock.ts';
import { hmacSha256, type Secret } from '../../kernel/secret.ts';
import { type CursorPosition, type CursorSign, decodeCursor, encodeCursor } from './audit-cursor.rules.ts';
import { auditRange, auditScope } from './audit-log.rules.ts';
import { type AuditEvent, type AuditFilters, listEvents, subtreeIds } from './audit-log.store.ts';

export interface AuditLogDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly pepper: Secret;
}

export interface AuditQuery {
  readonly filters: AuditFilters;
  readonly occurred_after?: string | undefined;
  readonly occurred_before?: string | undefined;
  readonly scope?: 'self' | 'subtree' | undefined;
  readonly cursor?: string | undefined;
  readonly limit: number;
}

export interface AuditPage {
  readonly items: AuditEvent[];
  readonly nextCursor: string | null;
}

export interface AuditLogService {
  list(call: Call, org: OrgScope, query: AuditQuery): Promise<AuditPage>;
}

export function createAuditLogService(deps: AuditLogDeps): AuditLogService {
  return { list: (call, org, query) => listPage(deps, call, org, query) };
}

/**
 * The cursor is a place in time and nothing more: it holds for one organization and under any filters, so a client may
 * narrow its question half-way. What was committed before the first page is met exactly once, whatever is written since:
 * new events are newer than the walk, and late commits of older ones only add.
 */
async function listPage(
  deps: AuditLogDeps,
  call: Call,
  org: OrgScope,
  query: AuditQuery,
): Promise<AuditPage> {
  const now = deps.clock.now();
  const sign: CursorSign = (text) => hmacSha256(deps.pepper, `audit cursor ${org.id} ${text}`);
  const after = positionOf(query.cursor, sign);
  const walkStartedAt = after?.walkStartedAt ?? now.getTime();
  const range = auditRange(query, now, walkStartedAt);
  const scope = auditScope(principalOf(call), org, query.scope);
  if (query.limit === 0) return { items: [], nextCursor: null };
  // Which organizations lie below is not for one organization to see, so the service looks itself.
  const orgIds = scope === 'self' ? [org.id] : await deps.db.asService((tx) => subtreeIds(tx, org.id));
  const found = await deps.db.inOrg(orgIds, (tx) =>
    listEvents(tx, orgIds, query.filters, range, { after, count: query.limit + 1 }),
  );
  const items = found.slice(0, query.limit);
  const last = items.at(-1);
  if (last === undefined || found.length <= query.limit) return { items, nextCursor: null };
  return { items, nextCursor: encodeCursor({ occurredAt: last.position, id: last.id, walkStartedAt }, sign) };
}

function positionOf(cursor: string | undefined, sign: CursorSign): CursorPosition | null {
  if (cursor === undefined) return null;
  const position = decodeCursor(cursor, sign);
  if (position === null) throw invalid('/cursor', 'is not a next_cursor of this organization’s events');
  return position;
}
