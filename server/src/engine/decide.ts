import type { AccessFacts, AccessPrincipal } from '../policy/access-facts.ts';
import { principalFingerprint } from '../policy/access-facts.ts';
import { baseReasons } from '../policy/base-rules.ts';
import {
  type PolicySnapshot,
  type Reason,
  type TypedAnswer,
  type TypedRules,
  timedAnswer,
  typedRules,
} from '../policy/typed-rules.ts';
import { mayOpen } from '../policy/verb-rules.ts';

export interface Decision {
  readonly effect: 'allow' | 'confirm' | 'approve' | 'deny';
  readonly reasons: readonly Reason[];
  /** What policies that only watch would have done. */
  readonly wouldHave: readonly Reason[];
  /** How many other people must consent, where the effect is `approve`. */
  readonly requiredApprovals: number;
}

export interface DecisionFacts extends AccessFacts {
  /** Of the organization and the epoch that everything else here was read under. */
  readonly policies: PolicySnapshot;
  readonly nowMs: number;
}

/** What holds under one epoch, and the answer of the last minute that was asked about. */
interface Entry {
  readonly standing: readonly Reason[];
  readonly rules: TypedRules;
  minute: number;
  decision: Decision;
}

interface Memo {
  readonly byObject: WeakMap<AccessPrincipal, Map<string, Entry>>;
  readonly byFacts: Map<string, Map<string, Entry>>;
  size: number;
}

/** Kept with the snapshot, and gone with it: a new epoch has a new one. */
const memos = new WeakMap<PolicySnapshot, Memo>();
const maxEntries = 20_000;

/**
 * The one decision about an action, in memory: for execute, preview and whoever else acts. The strictest effect wins.
 * Answers are kept by everything they rest on: the epoch (by its snapshot), the facts of the principal, target and verb;
 * and, where a policy asks for the time, the minute, because no rule is finer than that.
 */
export function decide(facts: DecisionFacts): Decision {
  const entries = entriesOf(facts);
  const key = targetKey(facts);
  const minute = Math.floor(facts.nowMs / 60_000);
  const known = entries.get(key);
  if (known === undefined) {
    const entry = newEntry(facts, minute);
    entries.set(key, entry);
    memoOf(facts.policies).size += 1;
    return entry.decision;
  }
  if (known.minute !== minute && known.rules.timed.length > 0) {
    known.decision = decisionAt(known, facts);
    known.minute = minute;
  }
  return known.decision;
}

function targetKey({ verb, target, openers }: DecisionFacts): string {
  const through =
    openers === undefined || openers.length === 0 ? '' : openers.map(({ entityId }) => entityId).join();
  return `${verb} ${target.entityId} ${through}`;
}

function memoOf(policies: PolicySnapshot): Memo {
  const known = memos.get(policies);
  if (known !== undefined && known.size < maxEntries) return known;
  const memo: Memo = { byObject: new WeakMap(), byFacts: new Map(), size: 0 };
  memos.set(policies, memo);
  return memo;
}

/** A principal that was recalled is the same object again; one that was read afresh is known by its facts. */
function entriesOf(facts: DecisionFacts): Map<string, Entry> {
  const { byObject, byFacts } = memoOf(facts.policies);
  const known = byObject.get(facts.principal);
  if (known !== undefined) return known;
  const fingerprint = principalFingerprint(facts);
  const entries = byFacts.get(fingerprint) ?? new Map<string, Entry>();
  byFacts.set(fingerprint, entries);
  byObject.set(facts.principal, entries);
  return entries;
}

function newEntry(facts: DecisionFacts, minute: number): Entry {
  const rules = typedRules(facts.policies, facts);
  const standing = [...baseReasons(facts), ...agentConfirmation(facts)];
  return { standing, rules, minute, decision: decisionAt({ standing, rules }, facts) };
}

function decisionAt({ standing, rules }: Pick<Entry, 'standing' | 'rules'>, facts: DecisionFacts): Decision {
  const now: TypedAnswer =
    rules.timed.length === 0 ? { reasons: [], wouldHave: [] } : timedAnswer(rules, facts, facts.nowMs);
  const reasons = [...standing, ...rules.reasons, ...now.reasons];
  return {
    effect: strictest(reasons),
    reasons,
    wouldHave: [...rules.wouldHave, ...now.wouldHave],
    requiredApprovals: rules.requiredApprovals,
  };
}

const strictness = ['deny', 'approve', 'confirm'] as const;

function strictest(reasons: readonly Reason[]): Decision['effect'] {
  return strictness.find((effect) => reasons.some((reason) => reason.effect === effect)) ?? 'allow';
}

/** Closing never needs more than opening, and safety never waits for a confirmation: so closing needs none. */
function agentConfirmation({ principal, verb }: DecisionFacts): readonly Reason[] {
  if (principal.kind !== 'agent' || principal.confirmationMode === 'policy' || !mayOpen(verb)) return [];
  const human = principal.confirmationMode === 'human';
  return [
    {
      policyId: principal.agentId,
      policyType: 'agent_confirmation',
      scope: 'agent',
      effect: human ? 'approve' : 'confirm',
      message: human ? 'a human must approve what this agent opens' : 'this agent must confirm what it opens',
    },
  ];
}
