import type { AuditEntry } from '../audit/audit.store.ts';
import type { Tx } from '../db/database.ts';
import { systemActor } from '../kernel/call.ts';
import type { FlowType, IdentityDeps, IdentityRequest } from './identity-model.ts';
import { homeOrgOf } from './user-link.store.ts';

export interface IdentityEvent {
  readonly type: Extract<AuditEntry['type'], `identity.${string}`>;
  readonly userId: string | null;
  /** Known when an invitation names it; the person's first organization otherwise. */
  readonly orgId?: string;
  readonly outcome?: AuditEntry['outcome'];
  readonly flowType: FlowType;
  readonly details?: Record<string, unknown>;
}

/** One event of a person at the provider. It needs a transaction of the service: no organization is known beforehand. */
export async function recordIdentityEvent(
  deps: IdentityDeps,
  tx: Tx,
  request: IdentityRequest,
  event: IdentityEvent,
): Promise<void> {
  const { userId } = event;
  const orgId = event.orgId ?? (await homeOrgOf(tx, userId, deps.rootOrgId));
  const origin = {
    actor: userId === null ? systemActor : { ...systemActor, kind: 'user' as const, userId },
    source: event.flowType === 'browser' ? ('dashboard' as const) : ('api' as const),
    correlationId: request.correlationId,
  };
  await deps.recordEvent(tx, origin, {
    orgId,
    type: event.type,
    outcome: event.outcome ?? 'succeeded',
    ...(userId === null ? {} : { resource: { type: 'user', id: userId } }),
    details: event.details ?? {},
  });
}
