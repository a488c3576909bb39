import type { QuotaKey, QuotaOverrideRequest } from '@lintel/contract/quotas';
import { originOf, recordEvent } from '../../audit/audit.store.ts';
import type { Database } from '../../db/database.ts';
import { invalid, notFound } from '../../kernel/app-error.ts';
import { type Call, type OrgScope, principalOf, requireRole } from '../../kernel/call.ts';
import { type Clock, parseInstant, toRfc3339 } from '../../kernel/clock.ts';
import { cleanText } from '../../kernel/text.ts';
import { isUlid, ulid } from '../../kernel/ulid.ts';
import { readLimits, readUsage } from '../../quota/quota.store.ts';
import {
  type Degradation,
  degradationOf,
  everyQuota,
  type PeriodWindow,
  requirePeriod,
  type Standing,
  windowOf,
} from './quotas.rules.ts';
import {
  deleteOverride,
  holdOrg,
  listOverrides,
  type Override,
  type OverrideFilters,
  tierOf,
  upsertOverride,
} from './quotas.store.ts';

export interface QuotasDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly rootOrgId: string;
}

export interface QuotaReport {
  readonly tier: string | null;
  readonly items: readonly (Standing & { readonly window: PeriodWindow })[];
  readonly degradation: Degradation;
}

export interface QuotasService {
  report(org: OrgScope): Promise<QuotaReport>;
  list(
    call: Call,
    filters: { readonly orgId: string | null; readonly key: QuotaKey | null },
    page: { readonly limit: number; readonly offset: number },
  ): Promise<{ items: Override[]; total: number }>;
  set(call: Call, input: QuotaOverrideRequest): Promise<Override>;
  remove(call: Call, id: string): Promise<void>;
}

export function createQuotasService(deps: QuotasDeps): QuotasService {
  return {
    report: (org) => reportOf(deps, org),
    list: (call, filters, page) => readOverrides(deps, call, filters, page),
    set: (call, input) => setOverride(deps, call, input),
    remove: (call, id) => removeOverride(deps, call, id),
  };
}

function reportOf({ db, clock }: QuotasDeps, org: OrgScope): Promise<QuotaReport> {
  return db.inOrg(org.id, async (tx) => {
    const limits = await readLimits(tx, org.id, everyQuota);
    const usage = await readUsage(tx, org.id, everyQuota);
    const now = clock.now();
    const items = limits.map((limit, index) => ({
      limit,
      current: usage[index]?.current ?? 0,
      window: windowOf(limit.period, now),
    }));
    return { tier: await tierOf(tx, org.id), items, degradation: degradationOf(items) };
  });
}

function requirePlatformAdmin({ rootOrgId }: QuotasDeps, call: Call): void {
  requireRole(principalOf(call), { id: rootOrgId, path: [rootOrgId] }, 'admin');
}

async function readOverrides(
  deps: QuotasDeps,
  call: Call,
  filters: OverrideFilters,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ items: Override[]; total: number }> {
  requirePlatformAdmin(deps, call);
  // As the service: a platform administrator sees the limits of all organizations.
  return deps.db.asService((tx) => listOverrides(tx, filters, page));
}

async function setOverride(deps: QuotasDeps, call: Call, input: QuotaOverrideRequest): Promise<Override> {
  requirePlatformAdmin(deps, call);
  const orgId = input.subject_id;
  const fields = {
    orgId,
    key: input.quota_key,
    period: requirePeriod(input.quota_key, input.period ?? null),
    value: input.limit_value,
    reason: parseReason(input.reason ?? null),
    expiresAt: parseEnd(input.expires_at ?? null, deps.clock.now()),
  };
  return deps.db.inOrg(orgId, async (tx) => {
    if (!(await holdOrg(tx, orgId))) throw invalid('/subject_id', 'is not an organization');
    const createdByUserId = principalOf(call).userId;
    const override = await upsertOverride(tx, { ...fields, id: ulid(), createdByUserId });
    await recordEvent(tx, originOf(call), {
      orgId,
      type: 'quota_override.set',
      resource: { type: 'quota_override', id: override.id },
      details: detailsOf(override),
    });
    return override;
  });
}

async function removeOverride(deps: QuotasDeps, call: Call, id: string): Promise<void> {
  requirePlatformAdmin(deps, call);
  if (!isUlid(id)) throw notFound();
  // As the service: whose limit it is stands in the row.
  await deps.db.asService(async (tx) => {
    const override = await deleteOverride(tx, id);
    if (override === null) throw notFound();
    await recordEvent(tx, originOf(call), {
      orgId: override.orgId,
      type: 'quota_override.deleted',
      resource: { type: 'quota_override', id },
      details: detailsOf(override),
    });
  });
}

function detailsOf({ key, period, value, reason, expiresAt }: Override): Record<string, unknown> {
  return {
    quota_key: key,
    period,
    limit_value: value,
    reason,
    expires_at: expiresAt && toRfc3339(expiresAt),
  };
}

function parseReason(input: string | null): string | null {
  if (input === null) return null;
  const reason = cleanText(input, { maxLength: 500 });
  if (!reason.ok) throw invalid('/reason', reason.reason);
  return reason.text;
}

function parseEnd(input: string | null, now: Date): Date | null {
  const end = input === null ? null : parseInstant(input);
  if (input !== null && (end === null || end <= now)) throw invalid('/expires_at', 'must be in the future');
  return end;
}
