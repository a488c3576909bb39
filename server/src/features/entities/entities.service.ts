import type { EntityType } from '@lintel/contract/entities';
import type { Database, Tx } from '../../db/database.ts';
import { holdDevice, isDeviceShown, isIntegrationShown } from '../../db/parents.ts';
import { notFound } from '../../kernel/app-error.ts';
import { type Call, entityLimit, type OrgScope, principalOf } from '../../kernel/call.ts';
import { requireUnlimited } from '../../kernel/resource-input.ts';
import { metadataSchemaOf } from '../../providers/record-rules.ts';
import {
  type Entity,
  type EntityFilters,
  type EntityPage,
  findEntity,
  listEntities,
} from './entities.store.ts';
import { type PortalDeps, withPortals } from './portal-entities.ts';

export type ListFilters = Omit<EntityFilters, 'limitedTo'>;

interface EntityList {
  readonly items: Entity[];
  readonly total: number;
}

export interface EntitiesService {
  list(call: Call, org: OrgScope, filters: ListFilters, page: EntityPage): Promise<EntityList>;
  listOfIntegration(
    call: Call,
    org: OrgScope,
    integrationId: string,
    filters: ListFilters,
    page: EntityPage,
  ): Promise<EntityList>;
  listOfDevice(
    call: Call,
    org: OrgScope,
    deviceId: string,
    filters: ListFilters,
    page: EntityPage,
  ): Promise<EntityList>;
  get(call: Call, org: OrgScope, id: string, includeDeleted: boolean): Promise<Entity>;
  metadataDefinition(call: Call, org: OrgScope, id: string): Promise<MetadataDefinition>;
  /** For an entity that is not there yet. */
  newMetadataDefinition(
    call: Call,
    org: OrgScope,
    deviceId: string,
    entityType: EntityType,
  ): Promise<MetadataDefinition>;
}

export interface MetadataDefinition {
  readonly providerType: string;
  readonly entityType: EntityType;
  readonly schema: Record<string, unknown>;
  readonly data: Entity['metadata'];
}

export interface EntitiesDeps extends PortalDeps {
  readonly db: Database;
}

/** A key or agent limited to certain entities sees those only; the others do not exist for it. */
export function createEntitiesService(deps: EntitiesDeps): EntitiesService {
  const { db } = deps;
  const read = async (tx: Tx, call: Call, org: OrgScope, filters: ListFilters, page: EntityPage) => {
    const limitedTo = entityLimit(principalOf(call));
    const { items, total } = await listEntities(tx, org.id, { ...filters, limitedTo }, page);
    return { items: await withPortals(tx, deps, org.id, items), total };
  };
  return {
    list: (call, org, filters, page) => db.inOrg(org.id, (tx) => read(tx, call, org, filters, page)),
    listOfIntegration: (call, org, integrationId, filters, page) =>
      db.inOrg(org.id, async (tx) => {
        if (!(await isIntegrationShown(tx, org.id, integrationId, filters))) throw notFound();
        return read(tx, call, org, { ...filters, integrationId }, page);
      }),
    listOfDevice: (call, org, deviceId, filters, page) =>
      db.inOrg(org.id, async (tx) => {
        if (!(await isDeviceShown(tx, org.id, deviceId, filters))) throw notFound();
        return read(tx, call, org, { ...filters, deviceId }, page);
      }),
    get: (call, org, id, includeDeleted) => getEntity(deps, call, org, id, includeDeleted),
    async metadataDefinition(call, org, id) {
      const { deviceId, entityType, metadata } = await getEntity(deps, call, org, id, false);
      return { ...(await definitionFor(deps, org, deviceId)), entityType, data: metadata };
    },
    async newMetadataDefinition(call, org, deviceId, entityType) {
      requireUnlimited(principalOf(call));
      return { ...(await definitionFor(deps, org, deviceId)), entityType, data: {} };
    },
  };
}

async function getEntity(
  deps: EntitiesDeps,
  call: Call,
  org: OrgScope,
  id: string,
  includeDeleted: boolean,
): Promise<Entity> {
  const limitedTo = entityLimit(principalOf(call));
  if (limitedTo !== null && !limitedTo.includes(id)) throw notFound();
  return deps.db.inOrg(org.id, async (tx) => {
    const found = await findEntity(tx, org.id, id, includeDeleted);
    const [entity] = found === null ? [] : await withPortals(tx, deps, org.id, [found]);
    if (entity === undefined) throw notFound();
    return entity;
  });
}

async function definitionFor({ db, manifestOf }: EntitiesDeps, org: OrgScope, deviceId: string) {
  const device = await db.inOrg(org.id, (tx) => holdDevice(tx, org.id, deviceId));
  if (!device?.isLive) throw notFound();
  const { providerType } = device;
  return { providerType, schema: metadataSchemaOf(manifestOf(providerType), 'entityMetadata') };
}
