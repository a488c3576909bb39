import { periodsOf, type QuotaKey, quotaKeys, quotaTable } from '@lintel/contract/quotas';
import type { Database } from '../db/database.ts';
import type { OrgScope } from '../kernel/call.ts';
import type { Clock } from '../kernel/clock.ts';
import { createLru } from '../kernel/lru.ts';
import { type EffectiveLimit, type QuotaName, readLimits, readUsage } from './quota.store.ts';
import { type Slowdown, slowdownOf } from './slowdown.rules.ts';

/** What is never refused but waits above its limit. */
export interface SlowedUse {
  /** One more use of all these keys; null where none of them has a limit. */
  next(org: OrgScope, keys: readonly QuotaKey[]): Promise<NextUse | null>;
  limits(org: OrgScope): Promise<readonly EffectiveLimit[]>;
}

export interface NextUse {
  /** What it has to wait for. */
  readonly slowdown: Slowdown | null;
  /** It goes on: whoever comes next comes after it. */
  count(): void;
}

interface KnownLimits {
  readonly epoch: number;
  readonly limits: readonly EffectiveLimit[];
  /** The part that limits anything. */
  readonly bounds: readonly EffectiveLimit[];
  /** An override that ends is no change of the organization, so no new epoch tells of it. */
  readonly untilMs: number;
}

interface KnownUse {
  readonly counts: Promise<Map<string, number>>;
  readonly startedMs: number;
}

const slowedNames: readonly QuotaName[] = quotaKeys
  .filter((key) => quotaTable[key].effect === 'slowed')
  .flatMap((key) => periodsOf(key).map((period) => ({ key, period })));
const refreshMs = 1_000;
const nameOf = ({ key, period }: QuotaName): string => `${key}:${period}`;

/**
 * Limits are kept by epoch. Usage is read only for organizations that have a limit, at most once a second, and counted
 * on in between: other nodes' uses of the last second may be missing, which shortens a wait and refuses nothing.
 */
export function createSlowedUse({ db, clock }: { readonly db: Database; readonly clock: Clock }): SlowedUse {
  const known = createLru<string, KnownLimits>(10_000);
  const used = createLru<string, KnownUse>(10_000);

  async function limitsOf(org: OrgScope): Promise<KnownLimits> {
    const earlier = known.get(org.id);
    if (earlier?.epoch === org.epoch && clock.millis() < earlier.untilMs) return earlier;
    const limits = await db.inOrg(org.id, (tx) => readLimits(tx, org.id, slowedNames));
    const ends = limits.map(({ expiresAt }) => expiresAt?.getTime() ?? Number.POSITIVE_INFINITY);
    const bounds = limits.filter(({ value }) => value !== null);
    const found = { epoch: org.epoch, limits, bounds, untilMs: Math.min(...ends) };
    known.set(org.id, found);
    return found;
  }

  function countsOf(orgId: string): Promise<Map<string, number>> {
    const earlier = used.get(orgId);
    const startedMs = clock.monotonicMs();
    if (earlier !== undefined && startedMs - earlier.startedMs < refreshMs) return earlier.counts;
    const counts = db
      .inOrg(orgId, (tx) => readUsage(tx, orgId, slowedNames))
      .then((usage) => new Map(usage.map((each) => [nameOf(each), each.current])));
    used.set(orgId, { counts, startedMs });
    return counts;
  }

  return {
    limits: async (org) => (await limitsOf(org)).limits,
    async next(org, keys) {
      const { bounds } = await limitsOf(org);
      const concerned = bounds.filter(({ key }) => keys.includes(key));
      if (concerned.length === 0) return null;
      const counts = await countsOf(org.id);
      const following = (name: QuotaName) => (counts.get(nameOf(name)) ?? 0) + 1;
      return {
        slowdown: slowdownOf(concerned, following),
        count: () => concerned.forEach((bound) => void counts.set(nameOf(bound), following(bound))),
      };
    },
  };
}
