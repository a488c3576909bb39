// Valid requests for limits and what is used of them.
import type { QuotaKey } from '@lintel/contract/quotas';
import type { Prepared, Recipe, Stage } from './scenario.ts';
import { platformActor } from './scenario-world.ts';

type QuotaOperation =
  | 'get_org_billing_usage'
  | 'get_org_billing_degradation'
  | 'get_admin_quota_overrides'
  | 'post_admin_quota_override'
  | 'delete_admin_quota_override';

const overrideOf = ({ tenant }: Stage, quotaKey: QuotaKey): Prepared => ({
  body: { subject_type: 'org', subject_id: tenant.orgId, quota_key: quotaKey, limit_value: 1_000 },
  refs: { subject: tenant.orgId },
});

async function overrideId(stage: Stage): Promise<string> {
  const { headers } = await platformActor(stage.app);
  const { body } = overrideOf(stage, 'zones');
  const answer = await stage.app.request('POST', '/admin/quota_overrides', { headers: { ...headers }, body });
  if (answer.status !== 200) throw new Error(`no override: ${answer.text}`);
  return String(answer.body.id);
}

const onOwnOrg: Recipe = { prepare: async ({ tenant }) => ({ params: { id: tenant.orgId } }) };

export const quotaScenarios: Readonly<Record<QuotaOperation, Recipe>> = {
  get_org_billing_usage: onOwnOrg,
  get_org_billing_degradation: onOwnOrg,
  get_admin_quota_overrides: { byPlatform: true, prepare: async () => ({}) },
  post_admin_quota_override: { byPlatform: true, prepare: async (stage) => overrideOf(stage, 'devices') },
  delete_admin_quota_override: {
    byPlatform: true,
    prepare: async (stage) => ({ params: { id: await overrideId(stage) } }),
  },
};
