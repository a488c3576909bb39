import { type Static, Type } from 'typebox';
import { DecisionReason } from './actions.ts';
import {
  Closed,
  Nullable,
  OptionalNullable,
  OrgIdParams,
  PathId,
  Response,
  Timestamp,
  Ulid,
} from './common.ts';
import { defineOperation } from './operation.ts';
import { CreatePolicyRequest } from './policies.ts';

/** What the query parameter `draft` holds, as JSON text. */
export const PolicyDraft = Closed('PolicyDraft', {
  ...CreatePolicyRequest.properties,
  integration_id: OptionalNullable(PathId),
  device_id: OptionalNullable(PathId),
});
export type PolicyDraft = Static<typeof PolicyDraft>;

const Effect = Type.Unsafe<'deny' | 'approve' | 'confirm'>({
  type: 'string',
  enum: ['deny', 'approve', 'confirm'],
});

export const WhatIfPrincipal = Response('WhatIfPrincipal', {
  kind: Type.Unsafe<'user' | 'api_key' | 'agent'>({ type: 'string', enum: ['user', 'api_key', 'agent'] }),
  id: Type.String(),
  name: Type.String(),
  user_id: Type.String({
    description: 'The person: themselves, the creator of the key, the owner of the agent',
  }),
  decision: Type.Unsafe<'allow' | 'confirm' | 'approve' | 'deny'>({
    type: 'string',
    enum: ['allow', 'confirm', 'approve', 'deny'],
  }),
  reasons: Type.Array(DecisionReason),
});
export type WhatIfPrincipal = Static<typeof WhatIfPrincipal>;

export const WhatIfHistory = Response('WhatIfHistory', {
  since: Type.String({
    format: 'date-time',
    description: 'Opens since then were looked at: 30 days, or fewer where it is truncated',
  }),
  truncated: Type.Boolean({ description: 'There were more than 5,000 opens; older ones were not looked at' }),
  examined: Type.Integer({
    minimum: 0,
    description: 'Opens that were looked at, 5,000 at most, newest first',
  }),
  skipped: Type.Integer({ minimum: 0, description: 'Opens of entities that are gone; not looked at' }),
  denied: Type.Integer({ minimum: 0 }),
  approval_required: Type.Integer({ minimum: 0 }),
  confirmation_required: Type.Integer({ minimum: 0 }),
  examples: Type.Array(
    Response('WhatIfOpen', {
      event_id: Ulid,
      occurred_at: Timestamp,
      entity_id: Ulid,
      actor_kind: Type.String(),
      actor_id: Nullable(Type.String()),
      effect: Effect,
      message: Type.String(),
    }),
    { description: '100 at most, newest first' },
  ),
});
export type WhatIfHistory = Static<typeof WhatIfHistory>;

export const WhatIf = Response('WhatIfResponse', {
  at: Timestamp,
  entity_id: Nullable(Ulid),
  principals: Nullable(Type.Array(WhatIfPrincipal)),
  truncated: Type.Boolean({ description: 'There are more than 1,000 principals' }),
  history: Nullable(WhatIfHistory),
});
export type WhatIf = Static<typeof WhatIf>;

export const whatIfOperations = [
  defineOperation({
    id: 'get_policies_what_if',
    tag: 'Policies',
    auth: 'principal',
    agents: false,
    org: 'path',
    orgParam: 'org_id',
    method: 'GET',
    path: '/orgs/{org_id}/policies/what-if',
    summary: 'Who could open an entity at a time, and what a draft policy would have changed',
    description:
      'With `entity_id`: what would be decided at `at` for everybody who has a role or a key here, is an administrator ' +
      'above or has a key of one, or is an agent here, by the policies, holds and roles of now. Keys, and agents whose ' +
      'credentials all are, that have expired by then are left out. Administrators above are not named, and their keys ' +
      'not told, to callers who are not administrators there. With `draft` (a new policy as JSON, and where it is to ' +
      'hold): which opens of the last 30 days it alone would have denied or asked a confirmation or consent for, by ' +
      'the time of each open and by what its caller is now. With both, the draft counts in the first answer too. An agent is taken with all ' +
      'the roles of its owner. Writes nothing.',
    role: 'policies:manage',
    params: OrgIdParams,
    query: Type.Object({
      entity_id: Type.Optional(PathId),
      at: Type.Optional(Type.String({ format: 'date-time', description: 'RFC 3339; now unless given' })),
      draft: Type.Optional(
        Type.String({
          minLength: 2,
          maxLength: 12_000,
          description:
            'JSON of a CreatePolicyRequest; integration_id, and device_id with it, say that it is for these only',
        }),
      ),
    }),
    responses: { 200: WhatIf },
    errors: [],
    audit: null,
  }),
] as const;
