import type { Principal } from '../kernel/call.ts';
import type { Verb } from '../providers/provider.ts';
import type { Target } from './target.store.ts';

export interface Reason {
  readonly policyId: string | null;
  readonly policyType: string;
  readonly scope: string;
  readonly effect: 'deny' | 'confirm' | 'approve';
  readonly message: string;
}

export interface Decision {
  readonly effect: 'allow' | 'confirm' | 'approve' | 'deny';
  readonly reasons: readonly Reason[];
}

export interface DecisionFacts {
  readonly principal: Principal;
  readonly target: Target;
  readonly verb: Verb;
}

type Rule = (facts: DecisionFacts) => Reason | null;

/** Execute, preview and every later caller of an action ask this one function. The strictest effect wins. */
export function decide(facts: DecisionFacts): Decision {
  const reasons = rules.map((rule) => rule(facts)).filter((reason) => reason !== null);
  return { effect: strictest(reasons), reasons };
}

const strictness = ['deny', 'approve', 'confirm'] as const;

function strictest(reasons: readonly Reason[]): Decision['effect'] {
  return strictness.find((effect) => reasons.some((reason) => reason.effect === effect)) ?? 'allow';
}

/** Agents are denied by default: no list means no entity. */
const agentAllowList: Rule = ({ principal, target }) => {
  if (principal.kind !== 'agent' || principal.allowedEntityIds.includes(target.entityId)) return null;
  return {
    policyId: principal.agentId,
    policyType: 'agent_allow_list',
    scope: 'agent',
    effect: 'deny',
    message: 'the agent is not allowed this entity',
  };
};

const keyEntityScope: Rule = ({ principal, target }) => {
  if (principal.kind !== 'api_key' || principal.scopedEntityIds === null) return null;
  if (principal.scopedEntityIds.includes(target.entityId)) return null;
  return {
    policyId: principal.keyId,
    policyType: 'api_key_scope',
    scope: 'api_key',
    effect: 'deny',
    message: 'the key is scoped to other entities',
  };
};

/** Closing never needs more than opening, and safety never waits for a confirmation: so closing needs none. */
const agentConfirmation: Rule = ({ principal, verb }) => {
  if (principal.kind !== 'agent' || principal.confirmationMode === 'policy' || verb === 'close') return null;
  const human = principal.confirmationMode === 'human';
  return {
    policyId: principal.agentId,
    policyType: 'agent_confirmation',
    scope: 'agent',
    effect: human ? 'approve' : 'confirm',
    message: human ? 'a human must approve what this agent opens' : 'this agent must confirm what it opens',
  };
};

const rules: readonly Rule[] = [agentAllowList, keyEntityScope, agentConfirmation];
