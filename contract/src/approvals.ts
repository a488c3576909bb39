import { type Static, Type } from 'typebox';
import { Nullable, OrgIdParams, PathId, Response, Timestamp, Ulid } from './common.ts';
import { defineOperation } from './operation.ts';

export const Approval = Response('ApprovalRequestResponse', {
  id: Ulid,
  org_id: Ulid,
  policy_id: Type.String({ description: 'The policy that asks, or the agent whose actions need a human' }),
  policy_type: Type.String(),
  requester_user_id: Type.String({ description: 'The person behind the request' }),
  requester_kind: Type.String({ description: 'user, api_key or agent' }),
  requester_id: Type.String(),
  status: Type.String({ description: 'pending, approved, denied, expired or used' }),
  required_count: Type.Integer({ minimum: 1 }),
  approve_count: Type.Integer({ minimum: 0 }),
  subject_kind: Type.String({ description: 'entity_action' }),
  subject_ref: Type.String(),
  subject_label: Nullable(Type.String()),
  note: Nullable(Type.String()),
  created_at: Timestamp,
  expires_at: Timestamp,
});
export type Approval = Static<typeof Approval>;

export const ApprovalDecision = Response('ApprovalDecisionResponse', {
  id: Ulid,
  status: Type.String(),
  required_count: Type.Integer({ minimum: 1 }),
  approve_count: Type.Integer({ minimum: 0 }),
});
export type ApprovalDecision = Static<typeof ApprovalDecision>;

const base = {
  tag: 'Approvals',
  auth: 'principal',
  agents: false,
  org: 'path',
  orgParam: 'org_id',
} as const;
const vote = {
  ...base,
  method: 'POST',
  // In person: a key or an agent may be in the hands of whoever asks.
  auth: 'session',
  role: 'policies:approve',
  params: Type.Object({ org_id: PathId, id: PathId }),
  responses: { 200: ApprovalDecision },
  errors: ['already_voted', 'approval_closed'],
} as const;

export const approvalOperations = [
  defineOperation({
    ...base,
    id: 'list_policy_approvals',
    method: 'GET',
    path: '/orgs/{org_id}/policy-approvals',
    summary: 'List what waits for the consent of others',
    role: 'policies:approve',
    params: OrgIdParams,
    responses: { 200: Type.Array(Approval) },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...vote,
    id: 'approve_policy_approval',
    path: '/orgs/{org_id}/policy-approvals/{id}/approve',
    summary: 'Consent; enough consents let the request through once',
    audit: 'policy.approved',
  }),
  defineOperation({
    ...vote,
    id: 'deny_policy_approval',
    path: '/orgs/{org_id}/policy-approvals/{id}/deny',
    summary: 'Refuse; one refusal closes the request',
    audit: 'policy.approval_denied',
  }),
] as const;
