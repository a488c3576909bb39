/**
 * The closed table of error codes. The HTTP status belongs to the code, never to the thrower, so one code can not
 * mean two things. `docs/generated/errors.md` is written from this table.
 */
export const errorTable = {
  validation_error: {
    status: 400,
    meaning: 'The request does not fit its schema; `details` lists path and message.',
  },
  malformed_json: { status: 400, meaning: 'The body is not JSON, or nests deeper than 32 levels.' },
  org_required: { status: 400, meaning: 'The caller belongs to several organizations: name one in X-Org.' },
  idempotency_key_required: {
    status: 400,
    meaning: 'Agents must send Idempotency-Key, so that a retry is safe.',
  },
  script_error: {
    status: 400,
    meaning:
      'The script is wrong or a step of it failed; `details` has line and column, `output` what it printed.',
  },
  audit_range_exceeds_hot_window: {
    status: 400,
    meaning: 'The audit list covers the last 30 days; use an export for older events.',
  },
  unauthorized: { status: 401, meaning: 'No valid credential: missing, malformed, revoked or expired.' },
  forbidden: { status: 403, meaning: 'The caller lacks the role, or the organization is not theirs.' },
  csrf_rejected: { status: 403, meaning: 'A browser session needs same-origin proof on unsafe methods.' },
  policy_denied: { status: 403, meaning: 'A rule denies this action; the message names it.' },
  approval_required: {
    status: 403,
    meaning:
      'A different human must approve this action; `details` has the id of the request under `/approval_id`.',
  },
  not_found: { status: 404, meaning: 'Unknown here: absent, deleted, or of another organization.' },
  request_timeout: { status: 408, meaning: 'The request did not arrive in time.' },
  key_not_revoked: { status: 409, meaning: 'Only a revoked key can be restored or purged.' },
  key_expired: { status: 409, meaning: 'An expired key can not be restored.' },
  agent_revoked: { status: 409, meaning: 'A revoked agent can not be changed or given credentials.' },
  already_voted: { status: 409, meaning: 'The caller has voted on this request.' },
  approval_closed: { status: 409, meaning: 'The request is decided, used or expired.' },
  hold_conflict: {
    status: 409,
    meaning: 'There is a hold on the device of this entity, or on an entity of this device: end that first.',
  },
  already_exists: { status: 409, meaning: 'A record with this id or unique field exists.' },
  would_orphan_users: { status: 409, meaning: 'Some users belong to this organization only.' },
  user_in_other_orgs: {
    status: 409,
    meaning: 'The user also belongs to organizations out of the caller’s reach; remove the roles instead.',
  },
  last_admin: { status: 409, meaning: 'The organization would be left without an administrator.' },
  confirmation_required: {
    status: 409,
    meaning: 'Step-up applies: send `preview_token` back as the confirm header.',
  },
  confirmation_invalid: {
    status: 409,
    meaning: 'The confirmation is unknown, spent, expired or for another request.',
  },
  idempotency_key_conflict: { status: 409, meaning: 'The key was used for another request.' },
  idempotency_key_in_flight: { status: 409, meaning: 'The first request with this key is still running.' },
  outcome_unknown: {
    status: 409,
    meaning:
      'The command may have reached the device. It is never repeated automatically: look before you retry.',
  },
  device_refused: { status: 409, meaning: 'The device answered no; nothing moved.' },
  state_unknown: { status: 409, meaning: 'A toggle needs a known state.' },
  integration_disabled: { status: 409, meaning: 'The integration is paused.' },
  invitation_gone: { status: 410, meaning: 'The invitation is expired, cancelled or used.' },
  payload_too_large: { status: 413, meaning: 'The body is larger than the limit.' },
  unsupported_media_type: { status: 415, meaning: 'The body is of a type that is not read here.' },
  not_deleted: { status: 422, meaning: 'Only a deleted record can be restored.' },
  has_children: { status: 422, meaning: 'The record still has parts; remove them first.' },
  parent_deleted: { status: 422, meaning: 'What the record belongs to is deleted; restore that first.' },
  org_cycle: {
    status: 422,
    meaning: 'An organization can not be below itself, nor deeper in the tree than 16 levels.',
  },
  wrong_pin: { status: 422, meaning: 'The PIN does not fit the invitation.' },
  invitation_closed: { status: 422, meaning: 'The invitation was redeemed or cancelled already.' },
  rate_limited: { status: 429, meaning: 'Too many attempts; wait for Retry-After seconds.' },
  provider_open_rate_limited: {
    status: 429,
    meaning: 'The integration’s minimum interval between opens has not elapsed; wait for Retry-After.',
  },
  quota_exceeded: {
    status: 429,
    meaning: 'A limit of the organization is reached; `details` names key, current and limit.',
  },
  headers_too_large: { status: 431, meaning: 'The request headers are larger than the limit.' },
  internal_error: { status: 500, meaning: 'A fault of the service; the correlation id finds it in the log.' },
  action_not_implemented: { status: 501, meaning: 'The provider can not do this action.' },
  device_unreachable: {
    status: 502,
    meaning: 'The command provably never left: nothing happened and a retry is safe.',
  },
  unavailable: { status: 503, meaning: 'The service can not decide right now; nothing was done.' },
} as const satisfies Record<string, { status: number; meaning: string }>;

export type ErrorCode = keyof typeof errorTable;

export function statusOf(code: ErrorCode): number {
  return errorTable[code].status;
}
