import { type Static, Type } from 'typebox';
import { Nullable, PathId, Response, Timestamp, Ulid } from './common.ts';
import { defineOperation } from './operation.ts';

export const actionIds = ['switchable.open', 'switchable.close', 'switchable.toggle'] as const;
export type ActionId = (typeof actionIds)[number];

const ActionParams = Type.Object({ id: PathId, action_id: PathId });
const ActionPayload = Type.Unknown({
  title: 'ActionPayload',
  description: 'Any JSON; often an empty object',
});

export const Degradation = Response('Degradation', {
  stage: Type.String(),
  key: Type.String(),
  period: Type.String(),
  current: Type.Integer(),
  limit: Type.Integer(),
  delayed_ms: Type.Integer(),
  message: Type.String(),
});

export const ActionResult = Response('ActionResult', {
  ok: Type.Boolean(),
  correlation_id: Type.String(),
  attempt_id: Ulid,
  entity_id: Ulid,
  action_id: Type.String(),
  outcome: Type.Unsafe<'succeeded'>({ type: 'string', enum: ['succeeded'] }),
  state: Type.String(),
  state_source: Type.Unsafe<'observed' | 'commanded' | 'unknown'>({
    type: 'string',
    enum: ['observed', 'commanded', 'unknown'],
  }),
  executed_at: Timestamp,
  latency_ms: Type.Integer(),
  door_open_duration_seconds: Type.Optional(Type.Number()),
  degradation: Type.Optional(Degradation),
  replayed: Type.Optional(
    Type.Boolean({ description: 'The stored result of an earlier request with this key' }),
  ),
});
export type ActionResult = Static<typeof ActionResult>;

export const DecisionReason = Response('DecisionReason', {
  policy_id: Nullable(Type.String()),
  policy_type: Type.String(),
  scope: Type.String(),
  effect: Type.String(),
  message: Type.String(),
});
export type DecisionReason = Static<typeof DecisionReason>;

export const ActionPreview = Response('ActionPreview', {
  decision: Type.Unsafe<'allow' | 'confirm' | 'approve' | 'deny'>({
    type: 'string',
    enum: ['allow', 'confirm', 'approve', 'deny'],
  }),
  confirmation_required: Type.Boolean(),
  preview_token: Type.Optional(Type.String()),
  expires_at: Type.Optional(Timestamp),
  reasons: Type.Array(DecisionReason),
  effect: Response('ActionEffect', {
    entity: Type.String(),
    door: Nullable(Type.String()),
    action: Type.String(),
    provider_type: Type.String(),
    pulse_seconds: Nullable(Type.Number()),
  }),
  provider: Response('ActionProviderStatus', {
    health: Type.Unsafe<'ok' | 'reduced' | 'error'>({ type: 'string', enum: ['ok', 'reduced', 'error'] }),
    min_interval_ms: Type.Integer(),
    ready_in_ms: Type.Integer(),
  }),
  quotas: Type.Array(
    Response('QuotaStatus', {
      key: Type.String(),
      period: Type.String(),
      current: Type.Integer(),
      limit: Nullable(Type.Integer()),
    }),
  ),
});
export type ActionPreview = Static<typeof ActionPreview>;

const actionOperation = {
  tag: 'Entities',
  auth: 'principal',
  agents: true,
  org: 'principal',
  role: 'entities:set_state',
  buildingRoles: true,
  params: ActionParams,
  body: ActionPayload,
} as const;

export const actionOperations = [
  defineOperation({
    ...actionOperation,
    id: 'execute_entity_action',
    verifiedInCommit: true,
    method: 'POST',
    path: '/entities/{id}/actions/{action_id}',
    summary: 'Open, close or toggle',
    description:
      'Actions: switchable.open, switchable.close, switchable.toggle; open, close, toggle, on and off are accepted. ' +
      'The confirm header is named after the brand setting.',
    headers: [
      {
        name: 'Idempotency-Key',
        required: false,
        description: 'At most one command per key; required for agents',
      },
      {
        name: 'X-Service-Confirm',
        required: false,
        description: 'The single-use value when step-up applies',
      },
    ],
    responses: { 200: ActionResult },
    errors: [
      'action_not_implemented',
      'approval_required',
      'confirmation_invalid',
      'confirmation_required',
      'device_refused',
      'device_unreachable',
      'idempotency_key_conflict',
      'idempotency_key_in_flight',
      'idempotency_key_required',
      'integration_disabled',
      'outcome_unknown',
      'policy_denied',
      'provider_open_rate_limited',
      'state_unknown',
    ],
    audit: 'entity.action',
  }),
  defineOperation({
    ...actionOperation,
    id: 'preview_entity_action',
    method: 'POST',
    path: '/entities/{id}/actions/{action_id}/preview',
    summary: 'What executing would do and need; touches no hardware and spends no quota',
    responses: { 200: ActionPreview },
    errors: ['action_not_implemented'],
    audit: null,
  }),
] as const;
