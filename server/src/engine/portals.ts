import type { Tx } from '../db/database.ts';
import type { OrgScope } from '../kernel/call.ts';
import type { Composition, Part, ProviderManifest } from '../providers/provider.ts';
import { isSwitchable } from './action.rules.ts';
import { type LivePart, listLiveParts } from './portals.store.ts';
import type { Status, Target } from './target.store.ts';
import type { Targets } from './targets.ts';

type ManifestOf = (providerType: string) => ProviderManifest | null;

/** A portal is made of hardware, never of portals: so a command can not run in a circle. */
export function canBePart(
  { entityType, providerType }: Pick<Target, 'entityType' | 'providerType'>,
  manifestOf: ManifestOf,
): boolean {
  const manifest = manifestOf(providerType);
  return isSwitchable(entityType) && manifest !== null && manifest.composition === undefined;
}

export interface OpenersDeps {
  readonly targets: Targets;
  readonly providers: { readonly manifest: ManifestOf };
}

/** The entities that an action on this target would be sent to, in their order; none where it is hardware itself. */
export function openersOf(deps: OpenersDeps, org: OrgScope, target: Target): Promise<Target[]> {
  return livingParts(deps, org, compositionOf(deps, target)?.openers ?? []);
}

/** The entities that an open of this target switches on besides. */
export function lightsOf(deps: OpenersDeps, org: OrgScope, target: Target): Promise<Target[]> {
  const { openers = [], lights = [] } = compositionOf(deps, target) ?? {};
  const besides = lights.filter(({ id }) => !openers.some((opener) => opener.id === id));
  return livingParts(deps, org, besides);
}

function compositionOf({ providers }: OpenersDeps, { providerType, deviceMetadata }: Target) {
  return providers.manifest(providerType)?.composition?.(deviceMetadata) ?? null;
}

async function livingParts(
  { targets, providers }: OpenersDeps,
  org: OrgScope,
  parts: readonly Part[],
): Promise<Target[]> {
  const found = await Promise.all(parts.map(({ id }) => targets.find(org, id)));
  return found.filter((part) => part !== null).filter((part) => canBePart(part, providers.manifest));
}

export type PortalState =
  | { readonly status: Exclude<Status, 'unknown'>; readonly source: string; readonly observedAt: Date }
  | { readonly status: 'unknown' }
  | { readonly status: 'invalid'; readonly reason: string };

/** As the first opener stands whose state is known. */
export function portalState(
  { openers }: Composition,
  live: ReadonlyMap<string, LivePart>,
  manifestOf: ManifestOf,
): PortalState {
  if (openers.length === 0) return { status: 'invalid', reason: 'the device has no openers' };
  const usable = openers
    .map(({ id }) => live.get(id))
    .filter((part) => part !== undefined)
    .filter((part) => canBePart(part, manifestOf));
  if (usable.length === 0) return { status: 'invalid', reason: 'no opener of the device is left' };
  for (const { status, source, observedAt } of usable) {
    if (status !== null && status !== 'unknown' && source !== null && observedAt !== null)
      return { status, source, observedAt };
  }
  return { status: 'unknown' };
}

export async function findPortalStatus(
  tx: Tx,
  orgId: string,
  composition: Composition,
  manifestOf: ManifestOf,
): Promise<Status> {
  const ids = composition.openers.map(({ id }) => id);
  const live = await listLiveParts(tx, orgId, ids);
  const state = portalState(composition, new Map(live.map((part) => [part.id, part])), manifestOf);
  return state.status === 'invalid' ? 'unknown' : state.status;
}
