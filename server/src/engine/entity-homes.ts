import type { EntityBinding, ProviderDefinition } from '../providers/provider.ts';
import type { LinkRow } from './link.store.ts';

/**
 * The integration of every entity. Hardware only: the health of a site rests on it, and must not rest on another site.
 */
export function homesOf(
  definitions: ReadonlyMap<string, ProviderDefinition>,
  links: readonly LinkRow[],
  bindings: ReadonlyMap<string, readonly EntityBinding[]>,
): ReadonlyMap<string, string> {
  const hardware = links.filter(
    ({ providerType }) => definitions.get(providerType)?.manifest.composition === undefined,
  );
  return new Map(
    hardware.flatMap(({ integrationId }) =>
      (bindings.get(integrationId) ?? []).map((entity) => [entity.entityId, integrationId] as const),
    ),
  );
}
