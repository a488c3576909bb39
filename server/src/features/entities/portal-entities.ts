import type { Tx } from '../../db/database.ts';
import { listComposedDevices, listLiveParts } from '../../engine/portals.store.ts';
import { type PortalState, portalState } from '../../engine/portals.ts';
import type { Composition, ProviderManifest } from '../../providers/provider.ts';
import type { Entity } from './entities.store.ts';

export interface PortalDeps {
  readonly manifestOf: (providerType: string) => ProviderManifest | null;
  /** The providers whose devices are made of entities of others. */
  readonly composedTypes: readonly string[];
}

/** What is known of an entity through those its device is made of. */
export interface PortalView {
  readonly entryKind: string;
  readonly state: PortalState;
}

/** A door of a site has no state of its own: it is read off its openers, here and now. */
export async function withPortals(
  tx: Tx,
  { manifestOf, composedTypes }: PortalDeps,
  orgId: string,
  entities: readonly Entity[],
): Promise<Entity[]> {
  const switchable = entities.filter(({ entityType }) => ['door', 'switch', 'light'].includes(entityType));
  if (switchable.length === 0) return [...entities];
  const ids = switchable.map(({ id }) => id);
  const devices = await listComposedDevices(tx, orgId, ids, composedTypes);
  if (devices.length === 0) return [...entities];
  const compositions = new Map<string, Composition>();
  for (const { entityId, providerType, deviceMetadata } of devices) {
    const composition = manifestOf(providerType)?.composition?.(deviceMetadata) ?? null;
    if (composition !== null) compositions.set(entityId, composition);
  }
  const openers = [...compositions.values()].flatMap((composition) => composition.openers);
  const parts = await listLiveParts(
    tx,
    orgId,
    openers.map(({ id }) => id),
  );
  const live = new Map(parts.map((part) => [part.id, part]));
  return entities.map((entity) => {
    const composition = compositions.get(entity.id);
    if (composition === undefined) return entity;
    const state = portalState(composition, live, manifestOf);
    return { ...entity, portal: { entryKind: composition.entryKind, state } };
  });
}
