import type { Database } from '../db/database.ts';
import type { OrgScope } from '../kernel/call.ts';
import { createLru } from '../kernel/lru.ts';
import { isUlid } from '../kernel/ulid.ts';
import { findTarget, type Target } from './target.store.ts';

export interface Targets {
  /** Null when the entity is absent, deleted or of another organization. */
  find(org: OrgScope, entityId: string): Promise<Target | null>;
}

/**
 * Targets by organization epoch: any change of entities, devices or integrations makes a new epoch, so an entry is
 * never wrong for its key, and the commit refuses a decision made under an old one.
 */
export function createTargets(db: Database): Targets {
  const cache = createLru<string, Target | null>(10_000);
  return {
    async find(org, entityId) {
      if (!isUlid(entityId)) return null;
      const key = `${org.id} ${org.epoch} ${entityId}`;
      const known = cache.get(key);
      if (known !== undefined) return known;
      const target = await db.inOrg(org.id, (tx) => findTarget(tx, org, entityId));
      cache.set(key, target);
      return target;
    },
  };
}
