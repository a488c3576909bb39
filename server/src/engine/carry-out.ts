import type { ActionResult } from '@lintel/contract/actions';
import { AppError } from '../kernel/app-error.ts';
import type { Delivery } from '../providers/provider.ts';
import type { EngineDeps } from './engine.ts';
import type { NewIntent } from './intents.store.ts';
import { outcomeOf } from './outcome.rules.ts';
import type { PreparedAction } from './prepare-action.ts';
import type { Degradation } from './slow-down.ts';

/** A command is sent within this time or never. */
export const deadlineMs = 5_000;

/** What is left of an action once it is decided. */
export type DecidedAction = Pick<PreparedAction, 'org' | 'target' | 'verb' | 'actionId' | 'pulseSeconds'> & {
  /** That it had to wait, and for what. */
  readonly degradation?: Degradation | null;
};

/** What the event of this action says, whoever writes it: the request, or recovery after a crash. */
export function actionDetails({ target, verb, actionId }: DecidedAction): Record<string, unknown> {
  return {
    resource_name: target.name ?? target.doorName,
    door_name: target.doorName,
    action: actionId,
    command: verb,
    device_id: target.deviceId,
    integration_id: target.integrationId,
    provider_type: target.providerType,
  };
}

/** The command and T2, for an intent that is committed. Throws what the caller is told when it did not succeed. */
export async function carryOut(
  deps: EngineDeps,
  action: DecidedAction,
  intent: NewIntent,
  startedMs: number,
): Promise<ActionResult> {
  const { answer } = await conduct(deps, action, intent, { startedMs, untilMs: startedMs + deadlineMs });
  if (answer instanceof AppError) throw answer;
  return answer;
}

export interface Conducted {
  /** As it stands in the database. */
  readonly delivery: Delivery;
  readonly answer: ActionResult | AppError;
}

/** The same for whoever wants to know what became of it. */
export async function conduct(
  deps: EngineDeps,
  action: DecidedAction,
  intent: NewIntent,
  { startedMs, untilMs }: { readonly startedMs: number; readonly untilMs: number },
): Promise<Conducted> {
  const delivery = await deliver(deps, action, intent.id, untilMs);
  const latencyMs = Math.round(deps.clock.monotonicMs() - startedMs);
  const { finished, answer } = outcomeOf(action, intent, delivery, { latencyMs, now: deps.clock.now() });
  const standing = await deps.outcomes.write(finished).catch(() => 'unknown' as const);
  if (standing === finished.state) return { delivery, answer };
  const reason = 'the outcome could not be recorded in time';
  return { delivery: { kind: 'unknown', reason }, answer: new AppError('outcome_unknown', reason) };
}

function deliver(
  deps: EngineDeps,
  { org, target, verb, pulseSeconds }: DecidedAction,
  intentId: string,
  deadline: number,
): Promise<Delivery> {
  const errand = { intentId, entity: target, pulseSeconds, deadlineMs: deadline };
  return deps.deliveries.deliver({ orgId: org.id, ...target }, verb, errand);
}
