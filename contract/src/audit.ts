import { type Static, Type } from 'typebox';
import { Nullable, OrgIdParams, Response, Timestamp, Ulid } from './common.ts';
import { actorKinds, auditOutcomes, auditSources } from './events.ts';
import { defineOperation } from './operation.ts';

const oneOf = <const T extends readonly string[]>(values: T) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values] });

export const AuditRecord = Response('AuditRecord', {
  id: Ulid,
  org_id: Ulid,
  occurred_at: Timestamp,
  event_type: Type.String(),
  outcome: oneOf(auditOutcomes),
  source: oneOf(auditSources),
  actor_kind: oneOf(actorKinds),
  actor_user_id: Nullable(Type.String()),
  actor_agent_id: Nullable(Type.String()),
  actor_api_key_id: Nullable(Type.String()),
  actor_guest_id: Nullable(Type.String()),
  resource_type: Nullable(Type.String()),
  resource_id: Nullable(Type.String()),
  correlation_id: Nullable(Type.String()),
  details: Type.Record(Type.String(), Type.Unknown()),
});
export type AuditRecord = Static<typeof AuditRecord>;

const text = Type.Optional(Type.String({ maxLength: 256 }));

export const ListAuditEventsQuery = Type.Object({
  event_type: text,
  outcome: text,
  resource_type: text,
  resource_id: text,
  resource_name: Type.Optional(
    Type.String({ maxLength: 256, description: 'Case-insensitive part of the name' }),
  ),
  door_name: Type.Optional(
    Type.String({ maxLength: 256, description: 'Case-insensitive part of the door’s name' }),
  ),
  target_id: text,
  actor_user_id: text,
  actor_guest_id: text,
  actor_kind: text,
  org_scope: Type.Optional(
    Type.Unsafe<'self' | 'subtree'>({
      type: 'string',
      enum: ['self', 'subtree'],
      description:
        'subtree (what administrators get unless they ask otherwise) includes descendant organizations',
    }),
  ),
  correlation_id: text,
  occurred_after: Type.Optional(Type.String({ description: 'RFC 3339, inclusive, within the last 30 days' })),
  occurred_before: Type.Optional(Type.String({ description: 'RFC 3339, inclusive' })),
  cursor: Type.Optional(Type.String({ maxLength: 512, description: 'next_cursor of the previous page' })),
  limit: Type.Optional(Type.Integer({ minimum: 0, maximum: 200, default: 50 })),
});
export type ListAuditEventsQuery = Static<typeof ListAuditEventsQuery>;

export const auditOperations = [
  defineOperation({
    id: 'list_audit_events',
    method: 'GET',
    path: '/orgs/{org_id}/audit/events',
    tag: 'Audit',
    summary: 'Events of the last 30 days, newest first',
    auth: 'principal',
    agents: true,
    org: 'path',
    orgParam: 'org_id',
    role: 'audit:read',
    params: OrgIdParams,
    query: ListAuditEventsQuery,
    responses: {
      200: Response('AuditEventsPage', {
        items: Type.Array(AuditRecord),
        next_cursor: Nullable(Type.String({ description: 'For the next older page; null at the end' })),
      }),
    },
    errors: ['audit_range_exceeds_hot_window'],
    audit: null,
  }),
] as const;
