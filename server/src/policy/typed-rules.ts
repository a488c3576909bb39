import { type AccessFacts, type AccessPlace, isOutput, kindsOf } from './access-facts.ts';
import { type CompiledCedar, holds } from './cedar-engine.ts';
import { cedarRequest } from './cedar-facts.ts';
import type { CedarRequest } from './cedar-values.ts';
import { reaches, windowAt } from './hold-rules.ts';
import { type ActivePolicy, type DayWindow, kindBits, type OrgPolicies, policiesAt } from './org-policies.ts';
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
  if (facts.verb === 'close') return nothing;
  const request = requestOnce(facts);
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
    else if (cedarHolds(rule.policy(), request())) standing.push(policy);
  }
  return { ...split(standing), timed, calendars, requiredApprovals };
}

/** The part that depends on the time; the same for every moment of one minute. */
export function timedAnswer(rules: TypedRules, facts: AccessFacts, nowMs: number): TypedAnswer {
  const local = localTimes(nowMs);
  const holiday = rules.calendars.some(
    ({ rule, zone }) => rule.kind === 'holidays' && rule.days.has(local(zone).day),
  );
  const request = requestOnce(facts);
  return split(
    rules.timed.filter(({ rule, zone }) =>
      rule.kind === 'span'
        ? windowAt(rule.span, nowMs, () => local(zone)) !== null
        : holdsNow(rule, request, local(zone), holiday),
    ),
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

function applicablePolicies({ orgs }: PolicySnapshot, facts: AccessFacts): readonly ActivePolicy[] {
  const places = [facts.target, ...(facts.openers ?? [])];
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

type Request = () => CedarRequest;

/** One set of facts for however many policies; none where no policy asks. */
function requestOnce(facts: AccessFacts): Request {
  let request: CedarRequest | undefined;
  return () => {
    request ??= cedarRequest(facts, {});
    return request;
  };
}

function holdsNow(
  rule: ActivePolicy['rule'],
  request: Request,
  { day, minute, weekday }: LocalTime,
  holiday: boolean,
): boolean {
  if (rule.kind === 'cedar') {
    const context = { date: dateOfDay(day), minute, weekday, holiday };
    return cedarHolds(rule.policy(), { ...request(), context });
  }
  if (rule.kind !== 'window') return false;
  return (rule.onHolidays && holiday) || rule.windows.some((window) => isInside(window, minute));
}

/** What can not be read any more still forbids. */
function cedarHolds(policy: CompiledCedar | null, request: CedarRequest): boolean {
  return policy === null || holds(policy, request);
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
