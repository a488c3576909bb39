import type { AuditRecord } from '@lintel/contract/audit';
import { toRfc3339 } from '../../kernel/clock.ts';
import type { HandlersOf } from '../../kernel/handler.ts';
import type { AuditLogService } from './audit-log.service.ts';
import type { AuditEvent } from './audit-log.store.ts';

export function auditLogRoutes(auditLog: AuditLogService): HandlersOf<'list_audit_events'> {
  return {
    list_audit_events: async ({ call, org, query }) => {
      const filters = {
        eventType: query.event_type,
        outcome: query.outcome,
        resourceType: query.resource_type,
        resourceId: query.resource_id,
        resourceName: query.resource_name,
        doorName: query.door_name,
        targetId: query.target_id,
        actorUserId: query.actor_user_id,
        actorGuestId: query.actor_guest_id,
        actorKind: query.actor_kind,
        correlationId: query.correlation_id,
      };
      const { occurred_after, occurred_before, cursor, org_scope: scope, limit = 50 } = query;
      const page = await auditLog.list(call, org, {
        filters,
        occurred_after,
        occurred_before,
        scope,
        cursor,
        limit,
      });
      return { items: page.items.map(toRecord), next_cursor: page.nextCursor };
    },
  };
}

function toRecord(event: AuditEvent): AuditRecord {
  return {
    id: event.id,
    org_id: event.orgId,
    occurred_at: toRfc3339(event.occurredAt),
    event_type: event.eventType,
    outcome: event.outcome,
    source: event.source,
    actor_kind: event.actorKind,
    actor_user_id: event.actorUserId,
    actor_agent_id: event.actorAgentId,
    actor_api_key_id: event.actorApiKeyId,
    actor_guest_id: event.actorGuestId,
    resource_type: event.resourceType,
    resource_id: event.resourceId,
    correlation_id: event.correlationId,
    details: event.details,
  };
}
