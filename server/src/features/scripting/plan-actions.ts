import type { ActionPreview } from '@lintel/contract/actions';
import type { OperationId } from '@lintel/contract/operations';
import type { ScriptKind } from '@lintel/contract/scripting';
import { verbOf } from '../../engine/action.rules.ts';
import { AppError, notFound } from '../../kernel/app-error.ts';
import type { OrgScope } from '../../kernel/call.ts';
import { isDeleted } from './plan-overlay.ts';
import type { PlanContext } from './planned-records.ts';
import type { Fields } from './script-fields.ts';
import type { ScriptRecord } from './script-records.ts';

type AdmitOn = (
  context: PlanContext,
  operation: OperationId,
  kind: ScriptKind,
  id: string,
  body?: unknown,
) => Promise<OrgScope>;

const refusals = {
  deny: 'policy_denied',
  approve: 'approval_required',
  confirm: 'confirmation_required',
} as const;

/** Decided like the action itself; no hardware is touched. Of an entity that is only planned, the role is all there is. */
export async function planAction(
  context: PlanContext,
  id: string,
  actionId: string,
  payload: Fields,
  admitOn: AdmitOn,
): Promise<ScriptRecord> {
  const org = await admitOn(context, 'execute_entity_action', 'entity', id, payload);
  const planned = context.overlay.get('entity', id)?.record;
  if (planned !== undefined && (planned === null || isDeleted(planned))) throw notFound();
  if (planned === undefined) await requireAllowed(context, org, id, actionId, payload);
  else if (verbOf(actionId, String(planned.entity_type)) === null)
    throw new AppError('action_not_implemented', 'the entity has no such action');
  return { ok: true, entity_id: id, action_id: actionId, outcome: 'succeeded', state: 'unknown' };
}

async function requireAllowed(
  { performer, caller }: PlanContext,
  org: OrgScope,
  id: string,
  actionId: string,
  payload: Fields,
): Promise<void> {
  const params = { id, action_id: actionId };
  const step = { id: 'preview_entity_action', call: caller.call, org, params, body: payload } as const;
  const { decision, reasons } = (await performer.perform(step)) as ActionPreview;
  if (decision !== 'allow') throw new AppError(refusals[decision], reasons[0]?.message ?? 'denied');
}
