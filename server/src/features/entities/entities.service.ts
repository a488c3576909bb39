import type { Database, Tx } from '../../db/database.ts';
import { isDeviceShown, isIntegrationShown } from '../../db/parents.ts';
import { notFound } from '../../kernel/app-error.ts';
import { type Call, entityLimit, type OrgScope, principalOf } from '../../kernel/call.ts';
import {
  type Entity,
  type EntityFilters,
  type EntityPage,
  findEntity,
  listEntities,
} from './entities.store.ts';

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
}

/** A key or agent limited to certain entities sees those only; the others do not exist for it. */
export function createEntitiesService({ db }: { readonly db: Database }): EntitiesService {
  const read = (tx: Tx, call: Call, org: OrgScope, filters: ListFilters, page: EntityPage) =>
    listEntities(tx, org.id, { ...filters, limitedTo: entityLimit(principalOf(call)) }, page);
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
    async get(call, org, id, includeDeleted) {
      const limitedTo = entityLimit(principalOf(call));
      if (limitedTo !== null && !limitedTo.includes(id)) throw notFound();
      const entity = await db.inOrg(org.id, (tx) => findEntity(tx, org.id, id, includeDeleted));
      if (entity === null) throw notFound();
      return entity;
    },
  };
}
