import { quotaExceeded } from '../../kernel/app-error.ts';
import { type QuotaName, readLimits, readUsage } from '../../quota/quota.store.ts';
import { isDeleted } from './plan-overlay.ts';
import type { PlanContext } from './planned-records.ts';
import { homeOf } from './script-orgs.ts';

const capacities = {
  integration: 'integrations',
  zone: 'zones',
  device: 'devices',
  entity: 'entities',
} as const;

type Counted = keyof typeof capacities;

export const isCounted = (kind: string): kind is Counted => Object.hasOwn(capacities, kind);

/** Room for one more in an organization that there is already; what one that is only planned may hold, nobody knows. */
export async function requireCapacity(context: PlanContext, kind: Counted, orgId: string): Promise<void> {
  if (context.overlay.get('org', orgId)?.isNew === true) return;
  const name: QuotaName = { key: capacities[kind], period: 'lifetime' };
  const [[limit], [usage]] = await context.db.inOrg(orgId, async (tx) => [
    await readLimits(tx, orgId, [name]),
    await readUsage(tx, orgId, [name]),
  ]);
  if (limit === undefined || limit.value === null || usage === undefined) return;
  const current = Number(usage.current) + (await planned(context, kind, orgId));
  if (current >= Number(limit.value)) throw quotaExceeded({ ...name, current, limit: Number(limit.value) });
}

/** How many more there would be by now than there are. */
async function planned(context: PlanContext, kind: Counted, orgId: string): Promise<number> {
  let more = 0;
  for (const { id, record, isNew, ...at } of context.overlay.all(kind)) {
    if (at.orgId !== orgId) continue;
    const isThere = record !== null && !isDeleted(record);
    const wasThere = !isNew && !isThere && (await homeOf(context, kind, id))?.isLive === true;
    if (isNew && isThere) more += 1;
    if (wasThere) more -= 1;
  }
  return more;
}
