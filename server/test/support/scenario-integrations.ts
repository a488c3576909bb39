// Valid requests for integrations and what their providers are.
import { ulid } from '../../src/kernel/ulid.ts';
import type { Prepared, Recipe, Stage } from './scenario.ts';

type IntegrationOperation =
  | 'list_integrations'
  | 'create_integration'
  | 'get_integration'
  | 'update_integration'
  | 'delete_integration'
  | 'restore_integration'
  | 'hard_delete_integration'
  | 'get_integration_secrets'
  | 'list_integration_provider_types'
  | 'get_integration_provider_definition';

/** One that nothing hangs on. */
async function bareIntegration({ app, tenant }: Stage): Promise<Prepared> {
  const id = ulid();
  await app.db.query(
    `insert into integrations (org_id, id, provider_type, name) values ($1, $2, 'virtual_demo', $3)`,
    [tenant.orgId, id, { en: tenant.marker }],
  );
  return { params: { id } };
}

async function deletedIntegration(stage: Stage): Promise<Prepared> {
  const prepared = await bareIntegration(stage);
  await stage.app.db.query('update integrations set deleted_at = now() where id = $1', [prepared.params?.id]);
  return prepared;
}

export const integrationScenarios: Readonly<Record<IntegrationOperation, Recipe>> = {
  list_integrations: { prepare: async () => ({}) },
  create_integration: {
    prepare: async ({ tenant }) => ({
      body: {
        org_id: tenant.orgId,
        provider_type: 'virtual_demo',
        name: 'Doors',
        config: { latency_ms: 1 },
        secrets: {},
      },
      refs: { org: tenant.orgId },
    }),
  },
  get_integration: { prepare: bareIntegration },
  update_integration: {
    prepare: async (stage) => ({
      ...(await bareIntegration(stage)),
      body: { name: 'Renamed', enabled: false, config: { latency_ms: 2 }, secrets: null },
    }),
  },
  delete_integration: { prepare: bareIntegration },
  restore_integration: { prepare: deletedIntegration },
  hard_delete_integration: { prepare: deletedIntegration },
  get_integration_secrets: { prepare: bareIntegration },
  list_integration_provider_types: { prepare: async () => ({}) },
  get_integration_provider_definition: {
    prepare: async () => ({ params: { provider_type: 'virtual_demo' } }),
  },
};
