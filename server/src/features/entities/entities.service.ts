import type { Database } from '../../db/database.ts';
import { notFound } from '../../kernel/app-error.ts';
import { type Call, entityLimit, type OrgScope, principalOf } from '../../kernel/call.ts';
import {
  type Entity,
  type EntityFilters,
  type EntityPage,
  findEntity,
  listEntities,
} from './entities.store.ts';

export interface EntitiesService {
  list(
    call: Call,
    org: OrgScope,
    filters: Omit<EntityFilters, 'limitedTo'>,
    page: EntityPage,
  ): Promise<{ items: Entity[]; total: number }>;
  get(call: Call, org: OrgScope, id: string, includeDeleted: boolean): Promise<Entity>;
}

/** A key or agent limited to certain entities sees those only; the others do not exist for it. */
export function createEntitiesService({ db }: { db: Database }): EntitiesService {
  return {
    list: (call, org, filters, page) => {
      const limitedTo = entityLimit(principalOf(call));
      return db.inOrg(org.id, (tx) => listEntities(tx, org.id, { ...filters, limitedTo }, page));
    },
    async get(call, org, id, includeDeleted) {
      const limitedTo = entityLimit(principalOf(call));
      if (limitedTo !== null && !limitedTo.includes(id)) throw notFound();
      const entity = await db.inOrg(org.id, (tx) => findEntity(tx, org.id, id, includeDeleted));
      if (entity === null) throw notFound();
      return entity;
    },
  };
}
