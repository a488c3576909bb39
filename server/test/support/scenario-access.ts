// Valid requests for API keys and agents.
import { ulid } from '../../src/kernel/ulid.ts';
import type { Prepared, Recipe, Stage } from './scenario.ts';

type AccessOperation =
  | 'list_api_keys'
  | 'create_api_key'
  | 'update_api_key'
  | 'revoke_api_key'
  | 'restore_api_key'
  | 'purge_api_key'
  | 'list_agents'
  | 'create_agent'
  | 'get_agent'
  | 'update_agent'
  | 'revoke_agent'
  | 'create_agent_credential';

async function someKey({ app, tenant, actor }: Stage): Promise<Prepared> {
  const { id } = await app.world.key(tenant.orgId, actor.userId);
  await app.db.query('update api_keys set name = $2 where id = $1', [id, tenant.marker]);
  return { params: { id } };
}

async function revokedKey(stage: Stage): Promise<Prepared> {
  const prepared = await someKey(stage);
  await stage.app.db.query('update api_keys set revoked_at = now() where id = $1', [prepared.params?.id]);
  return prepared;
}

async function someAgent({ app, tenant, actor }: Stage): Promise<Prepared> {
  const id = await app.world.agent(tenant.orgId, actor.userId);
  await app.db.query('update agents set name = $2 where id = $1', [id, tenant.marker]);
  return { params: { id } };
}

/** An empty list would show nothing to anybody. */
const listAfter = (make: (stage: Stage) => Promise<Prepared>): Recipe => ({
  prepare: async (stage) => {
    await make(stage);
    return {};
  },
});

export const accessScenarios: Readonly<Record<AccessOperation, Recipe>> = {
  list_api_keys: listAfter(someKey),
  create_api_key: {
    prepare: async ({ tenant }) => {
      const entity = tenant.building.entityId;
      return {
        body: { name: `key ${ulid()}`, expires_in: '1d', scoped_entity_ids: [entity] },
        refs: { entity },
      };
    },
  },
  update_api_key: {
    prepare: async (stage) => ({ ...(await someKey(stage)), body: { name: 'renamed', expires_in: '1h' } }),
  },
  revoke_api_key: { prepare: someKey },
  restore_api_key: { prepare: revokedKey },
  purge_api_key: { prepare: revokedKey },
  list_agents: listAfter(someAgent),
  create_agent: {
    prepare: async ({ tenant }) => {
      const entity = tenant.building.entityId;
      return { body: { name: `agent ${ulid()}`, allowed_entity_ids: [entity] }, refs: { entity } };
    },
  },
  get_agent: { prepare: someAgent },
  update_agent: {
    prepare: async (stage) => {
      const entity = stage.tenant.building.entityId;
      const body = { purpose: 'opens the door', allowed_entity_ids: [entity] };
      return { ...(await someAgent(stage)), body, refs: { entity } };
    },
  },
  revoke_agent: { prepare: someAgent },
  create_agent_credential: {
    prepare: async (stage) => ({ ...(await someAgent(stage)), body: { expires_in: '1d' } }),
  },
};
