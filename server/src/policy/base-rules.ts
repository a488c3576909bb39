import { type AccessFacts, type AccessPrincipal, accessPrincipalId } from './access-facts.ts';
import { authorize, type CompiledCedar, loadBasePolicies } from './cedar-engine.ts';
import { cedarRequest } from './cedar-facts.ts';
import type { Reason } from './typed-rules.ts';

/** At the start, so that a service with broken policies does not start. */
const basePolicies = loadBasePolicies();

/** The permit that a principal of this kind would have needed. */
const neededPermit = {
  user: 'role',
  api_key: 'api_key_role',
  agent: 'agent_role',
  guest: 'invitation',
} as const;

/** What lintel.cedar says; empty when it allows. */
export function baseReasons(facts: AccessFacts): readonly Reason[] {
  const { allowed, determining } = authorize(basePolicies, cedarRequest(facts, {}));
  if (allowed) return [];
  if (determining.length > 0) return determining.map((policy) => reasonOf(policy, facts.principal));
  return basePolicies
    .filter(({ id }) => id === neededPermit[facts.principal.kind])
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
