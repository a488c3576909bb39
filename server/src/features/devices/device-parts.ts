import type { Tx } from '../../db/database.ts';
import { listLiveDevices, listLiveParts } from '../../engine/portals.store.ts';
import { canBePart } from '../../engine/portals.ts';
import { invalid } from '../../kernel/app-error.ts';
import type { Composition, Part, ProviderManifest } from '../../providers/provider.ts';

type ManifestOf = (providerType: string) => ProviderManifest | null;

/** A device that is made of others names only what its organization has, and nothing that is made of others itself. */
export async function requireFittingParts(
  tx: Tx,
  orgId: string,
  { composition }: ProviderManifest,
  deviceMetadata: Record<string, unknown>,
  manifestOf: ManifestOf,
): Promise<void> {
  const parts = composition?.(deviceMetadata) ?? null;
  if (parts === null) return;
  for (const list of [parts.openers, parts.lights, parts.cameras]) requireEachOnce(list);
  await requireEntities(tx, orgId, parts, manifestOf);
  await requireCameras(tx, orgId, parts);
}

function requireEachOnce(parts: readonly Part[]): void {
  const twice = parts.find(({ id }, index) => parts.findIndex((part) => part.id === id) < index);
  if (twice !== undefined) throw invalid(placeOf(twice), 'is named twice');
}

async function requireEntities(
  tx: Tx,
  orgId: string,
  { openers, lights }: Composition,
  manifestOf: ManifestOf,
): Promise<void> {
  const wanted = [...openers, ...lights];
  const found = await listLiveParts(
    tx,
    orgId,
    wanted.map(({ id }) => id),
  );
  const live = new Map(found.map((part) => [part.id, part]));
  for (const part of wanted) {
    const entity = live.get(part.id);
    if (entity === undefined) throw invalid(placeOf(part), 'is not an entity of this organization');
    if (!canBePart(entity, manifestOf))
      throw invalid(placeOf(part), 'must be a switch, door or light with hardware of its own');
    if (lights.includes(part) && entity.entityType === 'door')
      throw invalid(placeOf(part), 'must be a light or a switch: a door does not follow another one');
  }
}

async function requireCameras(tx: Tx, orgId: string, { cameras }: Composition): Promise<void> {
  const ids = cameras.map(({ id }) => id);
  const live = await listLiveDevices(tx, orgId, ids, 'go2rtc');
  const missing = cameras.find(({ id }) => !live.includes(id));
  if (missing !== undefined) throw invalid(placeOf(missing), 'is not a camera of this organization');
}

function placeOf({ path }: Part): string {
  return `/device_metadata${path}`;
}
