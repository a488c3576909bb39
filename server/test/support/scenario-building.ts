// Valid requests for what stands in a building, its actions and its audit.
import { ulid } from '../../src/kernel/ulid.ts';
import type { Prepared, Recipe, Stage } from './scenario.ts';
import { createBuilding } from './scenario-world.ts';

type BuildingOperation =
  | 'list_entities'
  | 'get_entity'
  | 'execute_entity_action'
  | 'preview_entity_action'
  | 'list_devices'
  | 'list_audit_events';

/** A door nobody used before, so that no interval between opens is in the way. */
async function openFreshDoor({ app, tenant, disposable }: Stage): Promise<Prepared> {
  const { entityId } = disposable ? tenant.building : await createBuilding(app, tenant.orgId, tenant.marker);
  return {
    params: { id: entityId, action_id: 'switchable.open' },
    body: {},
    headers: { 'idempotency-key': ulid() },
  };
}

export const buildingScenarios: Readonly<Record<BuildingOperation, Recipe>> = {
  list_entities: {
    prepare: async ({ tenant: { building } }) => ({
      query: { zone_id: building.zoneId },
      refs: { zone: building.zoneId },
    }),
  },
  get_entity: { prepare: async ({ tenant }) => ({ params: { id: tenant.building.entityId } }) },
  execute_entity_action: { prepare: openFreshDoor },
  preview_entity_action: { prepare: openFreshDoor },
  list_devices: {
    prepare: async ({ tenant: { building } }) => ({
      query: { integration_id: building.integrationId },
      refs: { integration: building.integrationId },
    }),
  },
  list_audit_events: { prepare: async ({ tenant }) => ({ params: { org_id: tenant.orgId } }) },
};
