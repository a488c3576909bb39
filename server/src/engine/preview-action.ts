import type { ActionPreview } from '@lintel/contract/actions';
import type { OrgScope, Principal } from '../kernel/call.ts';
import { toRfc3339 } from '../kernel/clock.ts';
import { hasApproval, needsProof } from './approvals.ts';
import { issueConfirmation } from './confirmations.ts';
import { counterPeriods, countersOf } from './counters.rules.ts';
import type { EngineDeps } from './engine.ts';
import { readCounters } from './intents.store.ts';
import { readinessOf } from './intervals.ts';
import { type ActionRequest, type PreparedAction, prepareAction } from './prepare-action.ts';

/** What executing would do and need. Touches no hardware and spends nothing. */
export async function previewAction(
  deps: EngineDeps,
  org: OrgScope,
  principal: Principal,
  request: ActionRequest,
): Promise<ActionPreview> {
  const action = await prepareAction(deps, org, principal, request);
  const decision = await standingDecision(deps, action);
  const confirmation = decision === 'confirm' ? await issueConfirmation(deps, action) : null;
  return {
    decision,
    confirmation_required: confirmation !== null,
    ...(confirmation && { preview_token: confirmation.token, expires_at: toRfc3339(confirmation.expiresAt) }),
    reasons: action.decision.reasons.map((reason) => ({
      policy_id: reason.policyId,
      policy_type: reason.policyType,
      scope: reason.scope,
      effect: reason.effect,
      message: reason.message,
    })),
    effect: effectOf(action),
    ...(await standingOf(deps, action)),
  };
}

/** As execute would take it: what others have consented to need not be asked for any more. */
async function standingDecision(
  deps: EngineDeps,
  action: PreparedAction,
): Promise<ActionPreview['decision']> {
  const { decision } = action;
  if (decision.effect !== 'approve' || !(await hasApproval(deps, action))) return decision.effect;
  return needsProof(decision) ? 'confirm' : 'allow';
}

function effectOf({ target, actionId, pulseSeconds }: PreparedAction): ActionPreview['effect'] {
  return {
    entity: target.name ?? target.entityId,
    door: target.doorName,
    action: actionId,
    provider_type: target.providerType,
    pulse_seconds: pulseSeconds,
  };
}

async function standingOf(
  deps: EngineDeps,
  action: PreparedAction,
): Promise<Pick<ActionPreview, 'provider' | 'quotas'>> {
  const { org, target, verb, principal } = action;
  const keys = countersOf(verb, principal);
  const { current, readiness } = await deps.db.inOrg(org.id, async (tx) => ({
    current: await readCounters(tx, org.id, keys),
    readiness: await readinessOf(tx, action),
  }));
  const used = new Map(current.map((row) => [row.key, row]));
  const limits = keys.length === 0 ? [] : await deps.slowedUse.limits(org);
  return {
    provider: {
      health: deps.providers.health(target.providerType, target.integrationId),
      min_interval_ms: readiness.minIntervalMs,
      ready_in_ms: readiness.waitMs,
    },
    quotas: keys.flatMap((key) =>
      counterPeriods[key].map((period) => ({
        key,
        period,
        current: used.get(key)?.[period] ?? 0,
        limit: limits.find((limit) => limit.key === key && limit.period === period)?.value ?? null,
      })),
    ),
  };
}
