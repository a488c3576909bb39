import type { DegradationStatus, QuotaOverride as OverrideRecord, QuotaUsage } from '@lintel/contract/quotas';
import { quotaTable } from '@lintel/contract/quotas';
import { toRfc3339 } from '../../kernel/clock.ts';
import type { HandlersOf } from '../../kernel/handler.ts';
import type { EffectiveLimit } from '../../quota/quota.store.ts';
import type { Degradation } from './quotas.rules.ts';
import type { QuotaReport, QuotasService } from './quotas.service.ts';
import type { Override } from './quotas.store.ts';

type Ids =
  | 'get_org_billing_usage'
  | 'get_org_billing_degradation'
  | 'get_admin_quota_overrides'
  | 'post_admin_quota_override'
  | 'delete_admin_quota_override';

export function quotaRoutes(quotas: QuotasService): HandlersOf<Ids> {
  return {
    get_org_billing_usage: async ({ org }) => {
      const { tier, items, degradation } = await quotas.report(org);
      return {
        org_id: org.id,
        tier_slug: tier,
        items: items.map(toUsage),
        degradation: toStatus(org.id, degradation),
      };
    },
    get_org_billing_degradation: async ({ org }) => toStatus(org.id, (await quotas.report(org)).degradation),
    get_admin_quota_overrides: async ({ call, query }) => {
      const filters = { orgId: query.subject_id ?? null, key: query.quota_key ?? null };
      const page = { limit: query.limit ?? 50, offset: query.offset ?? 0 };
      const { items, total } = await quotas.list(call, filters, page);
      return { items: items.map(toRecord), total };
    },
    post_admin_quota_override: async ({ call, body }) => toRecord(await quotas.set(call, body)),
    delete_admin_quota_override: async ({ call, params }) => {
      await quotas.remove(call, params.id);
    },
  };
}

function toUsage({ limit, current, window }: QuotaReport['items'][number]): QuotaUsage {
  return {
    key: limit.key,
    period: limit.period,
    unit: quotaTable[limit.key].unit,
    period_label: window.label,
    period_start: window.start && toRfc3339(window.start),
    period_end: window.end && toRfc3339(window.end),
    current,
    limit: { value: limit.value, source: toSource(limit) },
  };
}

function toSource({ source, ref }: EffectiveLimit): QuotaUsage['limit']['source'] {
  if (source === 'override') return { kind: 'override', id: ref ?? '' };
  return source === 'tier' ? { kind: 'tier', slug: ref ?? '' } : { kind: 'default' };
}

function toStatus(orgId: string, { stage, level, overages }: Degradation): DegradationStatus {
  return {
    org_id: orgId,
    stage,
    degradation_level: level,
    over_capacity: overages.length > 0,
    selection_policy: 'manual',
    overages: [...overages],
    flagged: [],
  };
}

function toRecord(override: Override): OverrideRecord {
  return {
    id: override.id,
    subject_type: 'org',
    subject_id: override.orgId,
    quota_key: override.key,
    period: override.period,
    limit_value: override.value,
    reason: override.reason,
    expires_at: override.expiresAt && toRfc3339(override.expiresAt),
    created_by_user_id: override.createdByUserId,
    created_at: toRfc3339(override.createdAt),
    updated_at: toRfc3339(override.updatedAt),
  };
}
