import { type AccessFacts, type AccessPlace, isOutput, kindsOf } from './access-facts.ts';
import { type CompiledCedar, holds } from './cedar-engine.ts';
import { cedarRequest } from './cedar-facts.ts';
import type { CedarRequest } from './cedar-values.ts';
import { type ActivePolicy, type DayWindow, type OrgPolicies, policiesAt } from './org-policies.ts';
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
  const applicable = applicablePolicies(snapshot, facts);
  if (applicable.length === 0) return nothing;
  const timed = applicable.filter(isTimed);
  const request = requestOnce(facts);
  const standing = applicable.filter((policy) => !isTimed(policy) && holdsAlways(policy, request));
  return {
    ...split(standing),
    timed,
    calendars: timed.length === 0 ? [] : applicable.filter(({ rule }) => rule.kind === 'holidays'),
    requiredApprovals: applicable.reduce((most, policy) => Math.max(most, thresholdOf(policy)), 1),
  };
}

/** The part that depends on the time; the same for every moment of one minute. */
export function timedAnswer(rules: TypedRules, facts: AccessFacts, nowMs: number): TypedAnswer {
  const local = localTimes(nowMs);
  const holiday = rules.calendars.some(
    ({ rule, zone }) => rule.kind === 'holidays' && rule.days.has(local(zone).day),
  );
  const request = requestOnce(facts);
  return split(rules.timed.filter((policy) => holdsNow(policy, request, local(policy.zone), holiday)));
}

/** Thousands of policies are of a handful of zones. */
function localTimes(nowMs: number): (zone: string) => LocalTime {
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
  const kinds = kindsOf(facts);
  const places = [facts.target, ...(facts.openers ?? [])];
  const selects = (policy: ActivePolicy, here: readonly AccessPlace[]) =>
    isFor(policy, facts, kinds) &&
    (policy.output === null || here.some((place) => isOutput(place, String(policy.output))));
  const found = orgs.flatMap((org) => [
    ...org.orgWide.filter((policy) => selects(policy, places)),
    ...places.flatMap((place) => policiesAt(org, place).filter((policy) => selects(policy, [place]))),
  ]);
  return places.length === 1 ? found : [...new Set(found)];
}

/** The curfew is for guests; whoever is exempt skips it. */
function isFor(policy: ActivePolicy, { principal }: AccessFacts, kinds: readonly string[]): boolean {
  if (policy.type === 'invitation_curfew' && (principal.kind !== 'guest' || principal.curfewExempt))
    return false;
  return policy.appliesTo?.some((kind) => kinds.includes(kind)) ?? true;
}

function isTimed({ rule }: ActivePolicy): boolean {
  if (rule.kind === 'window') return true;
  return rule.kind === 'cedar' && (rule.policy()?.readsContext ?? false);
}

function thresholdOf({ rule, enforcement }: ActivePolicy): number {
  return rule.kind === 'threshold' && enforcement === 'enforce' ? rule.count : 1;
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

function holdsAlways({ rule }: ActivePolicy, request: Request): boolean {
  if (rule.kind === 'cedar') return cedarHolds(rule.policy(), request());
  return rule.kind === 'always';
}

function holdsNow(
  { rule }: ActivePolicy,
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

function messageOf({ type, rule, zone, enforcement }: ActivePolicy): string {
  if (enforcement === 'require_approval') return 'somebody else must approve this';
  if (type === 'require_step_up') return 'this must be confirmed';
  if (rule.kind === 'window') return `not at this time of day (${zone})`;
  return rule.kind === 'cedar'
    ? (rule.policy()?.message ?? 'the policy can not be read')
    : 'a policy denies this';
}
