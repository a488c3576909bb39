import { type AccessFacts, type AccessPrincipal, accessPrincipalId, buildingsOf } from './access-facts.ts';
import { authorize, type CompiledCedar, loadBasePolicies } from './cedar-engine.ts';
import { cedarRequest } from './cedar-facts.ts';
import type { Reason } from './typed-rules.ts';

/** At the start, so that a service with broken policies does not start. */
const basePolicies = loadBasePolicies();

/** The permits that a principal of this kind could have had, the second one where it has a building. */
const neededPermits = {
  user: ['role', 'building_role'],
  api_key: ['api_key_role', 'api_key_building_role'],
  agent: ['agent_role', 'agent_building_role'],
  guest: ['invitation', 'invitation'],
} as const;

/** What lintel.cedar says; empty when it allows. */
export function baseReasons(facts: AccessFacts): readonly Reason[] {
  const { allowed, determining } = authorize(basePolicies, cedarRequest(facts, {}));
  if (allowed) return [];
  if (determining.length > 0) return determining.map((policy) => reasonOf(policy, facts.principal));
  const hasBuilding = buildingsOf(facts, 'manager').length + buildingsOf(facts, 'resident').length > 0;
  const needed = neededPermits[facts.principal.kind][hasBuilding ? 1 : 0];
  return basePolicies
    .filter(({ id }) => id === needed)
    .map((policy) => ({ ...reasonOf(policy, facts.principal), policyId: null, scope: 'org' }));
}

function reasonOf({ id, message }: CompiledCedar, principal: AccessPrincipal): Reason {
  return {
    policyId: accessPrincipalId(principal),
    policyType: id,
    scope: principal.kind,
    effect: 'deny',
    message,
  };
}
