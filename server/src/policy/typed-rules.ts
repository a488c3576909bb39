import { type AccessFacts, type AccessPlace, isOutput, kindsOf } from './access-facts.ts';
import { holds } from './cedar-engine.ts';
import { cedarRequest } from './cedar-facts.ts';
import type { CedarRecord, CedarRequest } from './cedar-values.ts';
import { reaches, windowAt } from './hold-rules.ts';
import {
  type ActivePolicy,
  type CedarRule,
  type DayWindow,
  isWithin,
  kindBits,
  type OrgPolicies,
  policiesAt,
  type WindowRule,
} from './org-policies.ts';
import { askedActions, mayOpen } from './verb-rules.ts';
import { dateOfDay, type LocalTime, localTime } from './zone-clock.ts';

export type RestrictingEffect = 'deny' | 'approve' | 'confirm';

export interface Reason {
  readonly policyId: string | null;
  readonly policyType: string;
  readonly scope: string;
  readonly effect: RestrictingEffect;
  readonly message: string;
}

/** The policies of an organization and of all above it, as of one epoch. */
export interface PolicySnapshot {
  readonly orgs: readonly OrgPolicies[];
}

/** What typed policies say of an action, apart from the time: that part can be kept. */
export interface TypedRules {
  readonly reasons: readonly Reason[];
  readonly wouldHave: readonly Reason[];
  /** Their answer depends on the minute. */
  readonly timed: readonly ActivePolicy[];
  readonly calendars: readonly ActivePolicy[];
  readonly requiredApprovals: number;
}

export interface TypedAnswer {
  readonly reasons: readonly Reason[];
  readonly wouldHave: readonly Reason[];
}

const nothing: TypedRules = { reasons: [], wouldHave: [], timed: [], calendars: [], requiredApprovals: 1 };

/** INVARIANT: closing never needs more than opening, so no typed policy is ever asked about a close. */
export function typedRules(snapshot: PolicySnapshot, facts: AccessFacts): TypedRules {
  if (!mayOpen(facts.verb)) return nothing;
  const requests = requestsOnce(facts);
  const standing: ActivePolicy[] = [];
  const timed: ActivePolicy[] = [];
  const calendars: ActivePolicy[] = [];
  let requiredApprovals = 1;
  // One pass: there may be thousands of them.
  for (const policy of applicablePolicies(snapshot, facts)) {
    const { rule } = policy;
    if (rule.kind === 'window' || rule.kind === 'span') timed.push(policy);
    else if (rule.kind === 'always') standing.push(policy);
    else if (rule.kind === 'holidays') calendars.push(policy);
    else if (rule.kind === 'threshold')
      requiredApprovals = Math.max(requiredApprovals, thresholdOf(policy, rule.count));
    else if (rule.policy()?.readsContext === true) timed.push(policy);
    else if (cedarHolds(rule, requests(policy, rule))) standing.push(policy);
  }
  return { ...split(standing), timed, calendars, requiredApprovals };
}

/** The part that depends on the time; the same for every moment of one minute. */
export function timedAnswer(rules: TypedRules, facts: AccessFacts, nowMs: number): TypedAnswer {
  const local = localTimes(nowMs);
  const holiday = rules.calendars.some(
    ({ rule, zone }) => rule.kind === 'holidays' && rule.days.has(local(zone).day),
  );
  const requests = requestsOnce(facts);
  return split(
    rules.timed.filter((policy) => {
      const { rule, zone } = policy;
      if (rule.kind === 'span') return windowAt(rule.span, nowMs, () => local(zone)) !== null;
      if (rule.kind === 'cedar')
        return cedarHolds(rule, requests(policy, rule), contextOf(local(zone), holiday));
      return rule.kind === 'window' && holdsNow(rule, local(zone), holiday);
    }),
  );
}

/** Thousands of policies are of a handful of zones. */
export function localTimes(nowMs: number): (zone: string) => LocalTime {
  const known = new Map<string, LocalTime>();
  return (zone) => {
    const before = known.get(zone);
    if (before !== undefined) return before;
    const local = localTime(zone, nowMs);
    known.set(zone, local);
    return local;
  };
}

function placesOf({ target, openers = [] }: AccessFacts): readonly AccessPlace[] {
  return [target, ...openers];
}

function applicablePolicies({ orgs }: PolicySnapshot, facts: AccessFacts): readonly ActivePolicy[] {
  const places = placesOf(facts);
  const isFor = audienceOf(facts);
  const found: ActivePolicy[] = [];
  const take = (policies: readonly ActivePolicy[], here: readonly AccessPlace[]) => {
    for (const policy of policies) if (isFor(policy) && isAbout(policy, here)) found.push(policy);
  };
  for (const org of orgs) {
    take(org.orgWide, places);
    if (org.lockdown !== null) found.push(org.lockdown);
    for (const place of places) take(policiesAt(org, place), [place]);
  }
  return places.length === 1 ? found : [...new Set(found)];
}

/** The curfew is for guests; whoever is exempt skips it. */
function audienceOf(facts: AccessFacts): (policy: ActivePolicy) => boolean {
  const { principal } = facts;
  const bits = kindBits(kindsOf(facts));
  const underCurfew = principal.kind === 'guest' && !principal.curfewExempt;
  return ({ appliesTo, type }) => (appliesTo & bits) !== 0 && (underCurfew || type !== 'invitation_curfew');
}

function isAbout({ output, reach }: ActivePolicy, places: readonly AccessPlace[]): boolean {
  if (reach !== undefined) return places.some((place) => reaches(reach, place));
  return output === null || places.some((place) => isOutput(place, output));
}

/** A threshold that only watches asks for nobody. */
function thresholdOf({ enforcement }: ActivePolicy, count: number): number {
  return enforcement === 'enforce' ? count : 1;
}

type Requests = (policy: ActivePolicy, rule: CedarRule) => readonly CedarRequest[];

/**
 * What a custom policy is asked: each place it applies to, so that a portal is no way around what holds for its openers.
 * One set of facts for each place, for however many policies; none where no policy asks.
 */
function requestsOnce(facts: AccessFacts): Requests {
  const places = placesOf(facts);
  const made = new Map<AccessPlace, readonly CedarRequest[]>();
  const requestsAt = (place: AccessPlace) => {
    const before = made.get(place);
    if (before !== undefined) return before;
    const requests = askedActions(facts.verb).map((verb) =>
      cedarRequest({ ...facts, target: place, verb }, {}),
    );
    made.set(place, requests);
    return requests;
  };
  // Where there is only one place, what applies applies to that.
  if (places.length === 1) return () => requestsAt(facts.target);
  return (policy, { within }) =>
    places.filter((place) => isWithin(within, place) && isAbout(policy, [place])).flatMap(requestsAt);
}

/** It holds when it forbids any of what it is asked. What can not be read any more still forbids. */
function cedarHolds(rule: CedarRule, requests: readonly CedarRequest[], context?: CedarRecord): boolean {
  const policy = rule.policy();
  if (policy === null) return true;
  return requests.some((request) => holds(policy, context === undefined ? request : { ...request, context }));
}

function contextOf({ day, minute, weekday }: LocalTime, holiday: boolean): CedarRecord {
  return { date: dateOfDay(day), minute, weekday, holiday };
}

function holdsNow({ onHolidays, windows }: WindowRule, { minute }: LocalTime, holiday: boolean): boolean {
  return (onHolidays && holiday) || windows.some((window) => isInside(window, minute));
}

export function isInside({ start, end }: DayWindow, minute: number): boolean {
  return start <= end ? minute >= start && minute <= end : minute >= start || minute <= end;
}

function split(policies: readonly ActivePolicy[]): TypedAnswer {
  return {
    reasons: policies.filter(({ enforcement }) => enforcement !== 'audit_only').map(reasonOf),
    wouldHave: policies.filter(({ enforcement }) => enforcement === 'audit_only').map(reasonOf),
  };
}

function reasonOf(policy: ActivePolicy): Reason {
  return {
    policyId: policy.id,
    policyType: policy.type,
    scope: policy.scope,
    effect: effectOf(policy),
    message: messageOf(policy),
  };
}

function effectOf({ type, enforcement }: ActivePolicy): RestrictingEffect {
  if (enforcement === 'require_approval') return 'approve';
  return type === 'require_step_up' ? 'confirm' : 'deny';
}

function messageOf({ type, rule, zone, enforcement, reason }: ActivePolicy): string {
  if (type === 'hold') return `held closed${reason ? `: ${reason}` : ''}`;
  if (type === 'lockdown') return `lockdown${reason ? `: ${reason}` : ''}`;
  if (enforcement === 'require_approval') return 'somebody else must approve this';
  if (type === 'require_step_up') return 'this must be confirmed';
  if (rule.kind === 'window') return `not at this time of day (${zone})`;
  return rule.kind === 'cedar'
    ? (rule.policy()?.message ?? 'the policy can not be read')
    : 'a policy denies this';
}
