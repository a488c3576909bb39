import { type Static, Type } from 'typebox';
import {
  Closed,
  IdParams,
  Nullable,
  OptionalNullable,
  Page,
  pagination,
  Response,
  Timestamp,
  Ulid,
} from './common.ts';
import { defineOperation } from './operation.ts';

export const quotaPeriods = ['lifetime', 'day', 'week', 'month', 'per_session'] as const;
export type QuotaPeriod = (typeof quotaPeriods)[number];
export type QuotaUnit = 'count' | 'seconds';

interface QuotaSpec {
  readonly unit: QuotaUnit;
  readonly periods: readonly QuotaPeriod[];
  /** capacity: a creation above it is refused · slowed: it waits, never refused · metered: it is refused */
  readonly effect: 'capacity' | 'slowed' | 'metered';
}

const capacity = { unit: 'count', periods: ['lifetime'], effect: 'capacity' } as const;
const perDay = { unit: 'count', periods: ['day'], effect: 'metered' } as const;
const perDayAndMonth = { unit: 'count', periods: ['day', 'month'], effect: 'metered' } as const;

/** The closed table of what can be limited. Days and months are those of the UTC calendar. */
export const quotaTable = {
  org_users: capacity,
  organizations: capacity,
  integrations: capacity,
  devices: capacity,
  entities: capacity,
  zones: capacity,
  api_keys: capacity,
  door_opens: { unit: 'count', periods: ['day', 'month'], effect: 'slowed' },
  voice_invocations: { unit: 'count', periods: ['day'], effect: 'slowed' },
  portal_views: perDay,
  video_sessions: { unit: 'count', periods: ['month'], effect: 'metered' },
  video_session_duration_seconds: { unit: 'seconds', periods: ['per_session'], effect: 'metered' },
  scripting_executions: perDay,
  ai_requests: perDayAndMonth,
  geocoding_requests: perDayAndMonth,
} as const satisfies Record<string, QuotaSpec>;

export type QuotaKey = keyof typeof quotaTable;
export const quotaKeys = Object.keys(quotaTable) as QuotaKey[];

export function periodsOf(key: QuotaKey): readonly QuotaPeriod[] {
  return quotaTable[key].periods;
}

const KeyName = Type.Unsafe<QuotaKey>({ type: 'string', enum: quotaKeys });
const Period = Type.Unsafe<QuotaPeriod>({ type: 'string', enum: [...quotaPeriods] });
const Unit = Type.Unsafe<QuotaUnit>({ type: 'string', enum: ['count', 'seconds'] });
const Amount = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

const LimitSource = Type.Union([
  Response('LimitOverrideSource', { kind: Type.Literal('override'), id: Ulid }),
  Response('LimitTierSource', { kind: Type.Literal('tier'), slug: Type.String() }),
  Response('LimitDefaultSource', { kind: Type.Literal('default') }),
]);

export const QuotaUsage = Response('QuotaUsage', {
  key: KeyName,
  period: Period,
  unit: Unit,
  period_label: Type.String({ description: 'lifetime, day:2026-04-03, month:2026-04' }),
  period_start: Nullable(Timestamp),
  period_end: Nullable(Timestamp),
  current: Amount,
  limit: Response('EffectiveLimit', { value: Nullable(Amount), source: LimitSource }),
});
export type QuotaUsage = Static<typeof QuotaUsage>;

const stages = ['none', 'warned', 'degraded', 'marked_for_delete'] as const;
const states = ['active', 'flagged', 'degraded', 'marked_for_delete'] as const;
const policies = ['newest_first', 'oldest_first', 'least_recently_used', 'manual'] as const;

export const DegradationStatus = Response('DegradationStatus', {
  org_id: Ulid,
  stage: Type.Unsafe<(typeof stages)[number]>({
    type: 'string',
    enum: [...stages],
    description: 'none, warned (a limit is near or passed), degraded (opens wait)',
  }),
  degradation_level: Type.Number({ description: 'How long an open waits, 1 being the longest' }),
  over_capacity: Type.Boolean(),
  selection_policy: Type.Unsafe<(typeof policies)[number]>({
    type: 'string',
    enum: [...policies],
    description: 'Always manual: nothing is ever deleted for a limit',
  }),
  overages: Type.Array(
    Response('KeyOverage', { key: KeyName, unit: Unit, current: Amount, limit: Amount, excess: Amount }),
  ),
  flagged: Type.Array(
    Response('FlaggedResource', {
      resource: Type.String(),
      id: Ulid,
      state: Type.Unsafe<(typeof states)[number]>({ type: 'string', enum: [...states] }),
    }),
  ),
});
export type DegradationStatus = Static<typeof DegradationStatus>;

export const QuotaReport = Response('QuotaReport', {
  org_id: Ulid,
  tier_slug: Nullable(Type.String()),
  items: Type.Array(QuotaUsage),
  degradation: Nullable(DegradationStatus),
});
export type QuotaReport = Static<typeof QuotaReport>;

export const QuotaOverrideRequest = Closed('QuotaOverrideRequest', {
  subject_type: Type.Literal('org'),
  subject_id: Ulid,
  quota_key: KeyName,
  period: OptionalNullable(
    Type.Unsafe<QuotaPeriod>({
      ...Period,
      description: 'One of the periods of the key; needed where it has several',
    }),
  ),
  limit_value: Nullable(Type.Integer({ ...Amount, description: 'null: unlimited' })),
  reason: OptionalNullable(Type.String({ maxLength: 500 })),
  expires_at: OptionalNullable(Timestamp),
});
export type QuotaOverrideRequest = Static<typeof QuotaOverrideRequest>;

export const QuotaOverride = Response('QuotaOverrideResponse', {
  id: Ulid,
  subject_type: Type.Literal('org'),
  subject_id: Ulid,
  quota_key: KeyName,
  period: Period,
  limit_value: Nullable(Amount),
  reason: Nullable(Type.String()),
  expires_at: Nullable(Timestamp),
  created_by_user_id: Nullable(Type.String()),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type QuotaOverride = Static<typeof QuotaOverride>;

const ofPlatform = {
  tag: 'Quotas',
  auth: 'principal',
  agents: false,
  org: 'none',
  role: { rule: 'admin on the root organization' },
} as const;
const ofOrg = {
  tag: 'Quotas',
  auth: 'principal',
  agents: false,
  org: 'path',
  orgParam: 'id',
  params: IdParams,
  role: 'orgs:read',
  errors: [],
  audit: null,
} as const;

export const quotaOperations = [
  defineOperation({
    ...ofOrg,
    id: 'get_org_billing_usage',
    method: 'GET',
    path: '/orgs/{id}/billing/usage',
    summary: 'What the organization has and uses, and the limits with their source',
    responses: { 200: QuotaReport },
  }),
  defineOperation({
    ...ofOrg,
    id: 'get_org_billing_degradation',
    method: 'GET',
    path: '/orgs/{id}/billing/degradation',
    summary: 'Whether limits are passed, and what follows from it',
    responses: { 200: DegradationStatus },
  }),
  defineOperation({
    ...ofPlatform,
    id: 'get_admin_quota_overrides',
    method: 'GET',
    path: '/admin/quota_overrides',
    summary: 'List the limits that organizations have of their own',
    query: Type.Object({
      subject_id: Type.Optional(Type.String({ maxLength: 128 })),
      quota_key: Type.Optional(KeyName),
      ...pagination,
    }),
    responses: { 200: Page(QuotaOverride) },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...ofPlatform,
    id: 'post_admin_quota_override',
    method: 'POST',
    path: '/admin/quota_overrides',
    summary: 'Give an organization a limit of its own, or change it',
    body: QuotaOverrideRequest,
    responses: { 200: QuotaOverride },
    errors: [],
    audit: 'quota_override.set',
  }),
  defineOperation({
    ...ofPlatform,
    id: 'delete_admin_quota_override',
    method: 'DELETE',
    path: '/admin/quota_overrides/{id}',
    summary: 'Give an organization the limit of its tier again',
    params: IdParams,
    responses: { 204: null },
    errors: [],
    audit: 'quota_override.deleted',
  }),
] as const;
