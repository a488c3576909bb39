import type { EntityBinding } from '../providers/provider.ts';

/** The entities a connection was told of, as it was told of them. */
export interface BoundEntities {
  /** False when they are the same as before. */
  take(entities: readonly EntityBinding[]): boolean;
  has(entity: EntityBinding): boolean;
}

export function createBoundEntities(): BoundEntities {
  let bound: ReadonlyMap<string, string> | null = null;
  return {
    take(entities) {
      const known = bound;
      bound = new Map(entities.map((entity) => [entity.entityId, textOf(entity)]));
      return known?.size !== bound.size || [...bound].some(([id, text]) => known.get(id) !== text);
    },
    has: (entity) => bound?.get(entity.entityId) === textOf(entity),
  };
}

/** By its members, because a target carries more of them. */
function textOf(entity: EntityBinding): string {
  const { entityType, externalId, metadata, deviceId, deviceExternalId, deviceMetadata } = entity;
  return JSON.stringify([entityType, externalId, metadata, deviceId, deviceExternalId, deviceMetadata]);
}
