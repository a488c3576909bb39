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
  | 'get_integration_provider_definition'
  | 'list_integration_ops'
  | 'execute_integration_op'
  | 'get_integration_discovered_devices'
  | 'get_integration_device_metadata_schema';

/** One that nothing hangs on. */
async function bareIntegration({ app, tenant }: Stage, providerType = 'virtual_demo'): Promise<Prepared> {
  const id = ulid();
  await app.db.query(`insert into integrations (org_id, id, provider_type, name) values ($1, $2, $4, $3)`, [
    tenant.orgId,
    id,
    { en: tenant.marker },
    providerType,
  ]);
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
  get_integration: { prepare: (stage) => bareIntegration(stage) },
  update_integration: {
    prepare: async (stage) => ({
      ...(await bareIntegration(stage)),
      body: { name: 'Renamed', enabled: false, config: { latency_ms: 2 }, secrets: null },
    }),
  },
  delete_integration: { prepare: (stage) => bareIntegration(stage) },
  restore_integration: { prepare: deletedIntegration },
  hard_delete_integration: { prepare: deletedIntegration },
  get_integration_secrets: { prepare: (stage) => bareIntegration(stage) },
  list_integration_ops: { prepare: (stage) => bareIntegration(stage) },
  execute_integration_op: {
    prepare: async (stage) => {
      const { params } = await bareIntegration(stage);
      return { params: { ...params, op_id: 'faults.next' }, body: { mode: 'refuse', count: 0 } };
    },
    needs: ['integrations:update'],
  },
  // It needs no far side: the devices dial in by themselves, or there are none.
  get_integration_discovered_devices: { prepare: (stage) => bareIntegration(stage, 'shelly_websocket') },
  get_integration_device_metadata_schema: { prepare: (stage) => bareIntegration(stage) },
  list_integration_provider_types: { prepare: async () => ({}) },
  get_integration_provider_definition: {
    prepare: async () => ({ params: { provider_type: 'virtual_demo' } }),
  },
};
