import type { ActionResult } from '@lintel/contract/actions';
import type { ErrorCode } from '@lintel/contract/errors';
import { AppError } from '../kernel/app-error.ts';
import { toRfc3339 } from '../kernel/clock.ts';
import type { Delivery } from '../providers/provider.ts';
import type { DecidedAction } from './carry-out.ts';
import type { FinishedIntent, NewIntent, StoredIntent } from './intents.store.ts';

interface Measured {
  readonly latencyMs: number;
  readonly now: Date;
}

interface Outcome {
  readonly finished: FinishedIntent;
  readonly answer: ActionResult | AppError;
}

type Failure = Exclude<Delivery, { kind: 'delivered' }>;

const failures: Record<Failure['kind'], { code: ErrorCode; outcome: 'failed' | 'unknown' }> = {
  refused: { code: 'device_refused', outcome: 'failed' },
  not_sent: { code: 'device_unreachable', outcome: 'failed' },
  unknown: { code: 'outcome_unknown', outcome: 'unknown' },
};

/** What a delivery means: for the intent, for the audit log and for the caller. */
export function outcomeOf(
  action: DecidedAction,
  intent: NewIntent,
  delivery: Delivery,
  measured: Measured,
): Outcome {
  return delivery.kind === 'delivered'
    ? success(action, intent, delivery.observed, measured)
    : failure(intent, delivery, measured);
}

function success(
  action: DecidedAction,
  intent: NewIntent,
  observed: 'open' | 'closed' | 'unknown' | null,
  { latencyMs, now }: Measured,
): Outcome {
  const commanded = action.verb === 'toggle' ? 'unknown' : action.verb === 'open' ? 'open' : 'closed';
  const state = observed ?? commanded;
  const answer: ActionResult = {
    ok: true,
    correlation_id: intent.correlationId,
    attempt_id: intent.id,
    entity_id: intent.entityId,
    action_id: action.actionId,
    outcome: 'succeeded',
    state,
    state_source: state === 'unknown' ? 'unknown' : observed === null ? 'commanded' : 'observed',
    executed_at: toRfc3339(now),
    latency_ms: latencyMs,
    ...((action.verb === 'open' || state === 'open') && action.pulseSeconds !== null
      ? { door_open_duration_seconds: action.pulseSeconds }
      : {}),
    ...(action.degradation ? { degradation: action.degradation } : {}),
  };
  const finished: FinishedIntent = {
    orgId: intent.orgId,
    id: intent.id,
    state: 'succeeded',
    result: answer,
    releaseKey: false,
    outcome: 'succeeded',
    details: {
      latency_ms: latencyMs,
      state,
      ...(action.degradation ? { delayed_ms: action.degradation.delayed_ms } : {}),
    },
    status: observed,
    statusSource: action.target.providerType,
  };
  return { finished, answer };
}

function failure(intent: NewIntent, delivery: Failure, { latencyMs }: Measured): Outcome {
  const { outcome } = failures[delivery.kind];
  const { code, options } = toldAs(delivery);
  const finished: FinishedIntent = {
    orgId: intent.orgId,
    id: intent.id,
    state: delivery.kind,
    result: { code, message: delivery.reason },
    releaseKey: delivery.kind === 'not_sent',
    outcome,
    details: { latency_ms: latencyMs, code, reason: delivery.reason },
    // After a command of unknown fate nobody knows how the door stands.
    status: delivery.kind === 'unknown' ? 'unknown' : null,
    statusSource: 'engine',
  };
  return { finished, answer: new AppError(code, delivery.reason, options) };
}

/** What was not sent only because it was too soon says when it may be tried again. */
function toldAs(delivery: Failure): { code: ErrorCode; options?: { retryAfterSeconds: number } } {
  if (delivery.kind !== 'not_sent' || delivery.retryAfterMs === undefined)
    return { code: failures[delivery.kind].code };
  return {
    code: 'provider_open_rate_limited',
    options: { retryAfterSeconds: Math.ceil(delivery.retryAfterMs / 1000) },
  };
}

/** The stored result of the first request with this key; never a second command. */
export function replay(stored: StoredIntent): ActionResult {
  if (!stored.sameRequest) {
    throw new AppError('idempotency_key_conflict', 'this Idempotency-Key was used for another request');
  }
  switch (stored.state) {
    case 'dispatching':
      throw new AppError('idempotency_key_in_flight', 'the first request with this key is still running');
    case 'succeeded':
      return { ...(stored.result as ActionResult), replayed: true };
    case 'refused':
    case 'not_sent':
    case 'unknown':
      throw storedFailure(failures[stored.state].code, stored.result);
  }
}

function storedFailure(code: ErrorCode, result: Record<string, unknown> | null): AppError {
  return new AppError(code, typeof result?.message === 'string' ? result.message : 'the outcome is unknown');
}
