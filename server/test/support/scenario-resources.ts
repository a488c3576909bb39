// Valid requests that make, change and remove zones, devices and entities.
import { ulid } from '../../src/kernel/ulid.ts';
import type { Prepared, Recipe, Stage } from './scenario.ts';

type ResourceOperation =
  | 'create_zone'
  | 'get_zone'
  | 'update_zone'
  | 'delete_zone'
  | 'hard_delete_zone'
  | 'restore_zone'
  | 'list_integration_zones'
  | 'create_device'
  | 'get_device'
  | 'get_device_metadata_definition'
  | 'get_device_entity_metadata_definition'
  | 'get_entity_metadata_definition'
  | 'update_device'
  | 'delete_device'
  | 'restore_device'
  | 'hard_delete_device'
  | 'list_device_entities'
  | 'create_entity'
  | 'update_entity'
  | 'patch_entity'
  | 'delete_entity'
  | 'restore_entity'
  | 'hard_delete_entity'
  | 'list_integration_entities';

type Table = 'zones' | 'devices' | 'entities';

/** One of its kind in the tenant's building with nothing that hangs on it. */
async function insert({ app, tenant }: Stage, table: Table): Promise<string> {
  const id = ulid();
  const { integrationId, deviceId } = tenant.building;
  const parent = table === 'entities' ? deviceId : integrationId;
  const name = table === 'entities' ? tenant.marker : JSON.stringify({ en: tenant.marker });
  const columns = table === 'entities' ? 'device_id, name, entity_type' : 'integration_id, name';
  const values = table === 'entities' ? "$3, $4, 'switch'" : '$3, $4';
  await app.db.query(`insert into ${table} (org_id, id, ${columns}) values ($1, $2, ${values})`, [
    tenant.orgId,
    id,
    parent,
    name,
  ]);
  return id;
}

const onNew = (table: Table, rest: (stage: Stage) => Prepared = () => ({})): Recipe => ({
  prepare: async (stage) => ({ params: { id: await insert(stage, table) }, ...rest(stage) }),
});

const onDeleted = (table: Table): Recipe => ({
  prepare: async (stage) => {
    const id = await insert(stage, table);
    await stage.app.db.query(`update ${table} set deleted_at = now() where id = $1`, [id]);
    return { params: { id } };
  },
});

const ofIntegration: Recipe = {
  prepare: async ({ tenant }) => ({ params: { id: tenant.building.integrationId } }),
};

export const resourceScenarios: Readonly<Record<ResourceOperation, Recipe>> = {
  create_zone: {
    prepare: async ({ tenant: { marker, building } }) => ({
      body: {
        integration_id: building.integrationId,
        name: marker,
        parent_zone_id: building.zoneId,
        external_id: ulid(),
      },
      refs: { integration: building.integrationId, parent: building.zoneId },
    }),
  },
  get_zone: { prepare: async ({ tenant }) => ({ params: { id: tenant.building.zoneId } }) },
  update_zone: onNew('zones', ({ tenant: { marker, building } }) => ({
    body: { name: marker, parent_zone_id: building.zoneId },
    refs: { parent: building.zoneId },
  })),
  delete_zone: onNew('zones'),
  hard_delete_zone: onNew('zones'),
  restore_zone: onDeleted('zones'),
  list_integration_zones: ofIntegration,
  create_device: {
    prepare: async ({ tenant: { orgId, marker, building } }) => ({
      body: {
        org_id: orgId,
        integration_id: building.integrationId,
        name: marker,
        external_id: ulid(),
        device_metadata: { kind: 'controller' },
      },
      refs: { org: orgId, integration: building.integrationId },
    }),
  },
  get_device: { prepare: async ({ tenant }) => ({ params: { id: tenant.building.deviceId } }) },
  get_device_metadata_definition: onNew('devices'),
  get_device_entity_metadata_definition: {
    prepare: async ({ tenant }) => ({
      params: { device_id: tenant.building.deviceId },
      query: { entity_type: 'door' },
    }),
  },
  get_entity_metadata_definition: {
    prepare: async ({ tenant }) => ({ params: { id: tenant.building.entityId } }),
  },
  update_device: onNew('devices', ({ tenant }) => ({
    body: { name: tenant.marker, external_id: ulid(), device_metadata: { kind: 'controller' } },
  })),
  delete_device: onNew('devices'),
  restore_device: onDeleted('devices'),
  hard_delete_device: onNew('devices'),
  list_device_entities: {
    prepare: async ({ tenant }) => ({ params: { device_id: tenant.building.deviceId } }),
  },
  create_entity: {
    prepare: async ({ tenant: { marker, building } }) => ({
      body: {
        device_id: building.deviceId,
        entity_type: 'switch',
        name: marker,
        external_id: ulid(),
        zone_id: building.zoneId,
        channel_index: 1,
        metadata: { note: marker },
      },
      refs: { device: building.deviceId, zone: building.zoneId },
    }),
  },
  update_entity: onNew('entities', ({ tenant: { marker, building } }) => ({
    body: { name: marker, zone_id: building.zoneId, external_id: ulid(), metadata: { note: marker } },
    refs: { zone: building.zoneId },
  })),
  patch_entity: onNew('entities', ({ tenant }) => ({ body: { metadata: { note: tenant.marker } } })),
  delete_entity: onNew('entities'),
  restore_entity: onDeleted('entities'),
  hard_delete_entity: onNew('entities'),
  list_integration_entities: ofIntegration,
};
