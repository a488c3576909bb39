import type { OrgScope } from '../kernel/call.ts';
import type { PolicySnapshot } from '../policy/typed-rules.ts';
import type { EngineDeps } from './engine.ts';
import { openersOf } from './portals.ts';
import type { Target } from './target.store.ts';

/** What an open is decided on, apart from who asks and when. */
export interface OpenFacts {
  readonly org: OrgScope;
  readonly target: Target;
  readonly openers: readonly Target[];
  readonly policies: PolicySnapshot;
}

/** Null when the entity is absent, deleted or of another organization. */
export async function openFacts(
  deps: EngineDeps,
  org: OrgScope,
  entityId: string,
): Promise<OpenFacts | null> {
  const target = await deps.targets.find(org, entityId);
  if (target === null) return null;
  const [policies, openers] = await Promise.all([deps.policies.snapshot(org), openersOf(deps, org, target)]);
  return { org, target, openers, policies };
}
