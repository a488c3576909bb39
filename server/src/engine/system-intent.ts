import { systemActor } from '../kernel/call.ts';
import { sha256Canonical } from '../kernel/canonical-json.ts';
import { ulid } from '../kernel/ulid.ts';
import { actionDetails, type DecidedAction, deadlineMs } from './carry-out.ts';
import type { NewIntent } from './intents.store.ts';

/** What the service does by itself. A key makes it happen once, on whichever node. */
export function systemIntent(
  action: DecidedAction,
  key: string | null,
  more: Record<string, unknown> = {},
): NewIntent {
  const { org, target } = action;
  return {
    orgId: org.id,
    epoch: org.epoch,
    credentialExpiresAt: null,
    id: ulid(),
    entityId: target.entityId,
    deviceId: target.deviceId,
    integrationId: target.integrationId,
    actionId: action.actionId,
    principalKind: 'system',
    principalId: 'system',
    actor: systemActor,
    source: 'system',
    details: { ...actionDetails(action), ...more, automatic: true },
    correlationId: ulid(),
    idempotencyKey: key,
    fingerprint: sha256Canonical([org.id, 'system', target.entityId, action.actionId]),
    confirmationHash: null,
    approval: null,
    deadlineMs,
    minIntervalMs: 0,
    openers: [],
    counters: [],
    closeAfterMs: null,
  };
}
