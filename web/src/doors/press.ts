import { ApiCallError } from '@lintel/contract/client';
import type { Entity } from '@lintel/contract/entities';
import { api, newIdempotencyKey } from '../api.ts';
import { type Problem, problemOf } from '../ui/problem.ts';
import { type EntityKind, resultText, type Step } from './entity-wording.ts';

export interface PressOutcome extends Problem {
  readonly isGood: boolean;
}

/** Sends one command and says honestly what is known afterwards. */
export async function press(
  orgId: string,
  entity: Entity,
  kind: EntityKind,
  { actionId }: Step,
): Promise<PressOutcome> {
  try {
    const result = await api('execute_entity_action', {
      params: { id: entity.id, action_id: actionId },
      body: {},
      headers: { 'x-org': orgId, 'idempotency-key': newIdempotencyKey() },
    });
    return { isGood: true, text: resultText(kind, result), correlationId: result.correlation_id };
  } catch (error) {
    if (error instanceof ApiCallError) return { isGood: false, ...problemOf(error) };
    const text =
      'The connection broke before an answer came. It may have moved: look before you press again.';
    return { isGood: false, text, correlationId: null };
  }
}
