import type { OrgScope } from '../kernel/call.ts';
import { timedAnswer, typedRules } from '../policy/typed-rules.ts';
import type { DecisionFacts } from './decide.ts';
import { lightsOf, type OpenersDeps } from './portals.ts';
import type { Target } from './target.store.ts';

/** What the event and the intent of an open say of its lights; the relay leaves these out. */
export interface HeldBack {
  readonly held_back?: readonly string[];
}

type PortalFacts = Omit<DecisionFacts, 'org' | 'target'> & {
  readonly org: OrgScope;
  readonly target: Target;
};

/**
 * The lights of a portal follow its open, but not past a policy or a hold that is against switching them on: those stay
 * as they are, and the door opens all the same. A door is no light, whatever the portal says of it.
 */
export async function heldBackLights(deps: OpenersDeps, facts: PortalFacts): Promise<HeldBack> {
  const lights = await lightsOf(deps, facts.org, facts.target);
  return heldBack(lights.filter((light) => light.entityType === 'door' || !mayFollow(facts, light)));
}

/** What the service opens by itself it does not light. */
export async function allHeldBack(deps: OpenersDeps, org: OrgScope, target: Target): Promise<HeldBack> {
  return heldBack(await lightsOf(deps, org, target));
}

function heldBack(lights: readonly Target[]): HeldBack {
  return lights.length === 0 ? {} : { held_back: lights.map(({ entityId }) => entityId) };
}

function mayFollow(facts: PortalFacts, light: Target): boolean {
  const own = { ...facts, target: light, openers: [], verb: 'open' as const };
  const rules = typedRules(facts.policies, own);
  return rules.reasons.length === 0 && timedAnswer(rules, own, facts.nowMs).reasons.length === 0;
}
