// What an action is answered, a second time and from the text of the rules alone (interface 3.4 and 5, decisions 4 and 5,
// reference/behaviour.md 5): slow, plain, and without a line of server/src/policy.
import { Temporal } from 'temporal-polyfill';

export interface ReferencePolicy {
  readonly id: string;
  readonly orgId: string;
  readonly scope: 'org' | 'integration' | 'device';
  readonly integrationId: string | null;
  readonly deviceId: string | null;
  readonly hardwareId: string | null;
  readonly policyType: string;
  readonly capability: string | null;
  readonly config: Readonly<Record<string, unknown>>;
  readonly enforcement: 'enforce' | 'require_approval' | 'audit_only';
  readonly enabled: boolean;
}

export interface ReferencePlace {
  readonly entityId: string;
  readonly deviceId: string;
  /** Which real thing the device is, where that is known. */
  readonly hardwareId: string | null;
  readonly integrationId: string;
  /** Of the device: a channel, or an output. */
  readonly output: string | null;
}

export interface ReferenceCase {
  readonly kind: 'user' | 'api_key' | 'agent' | 'guest';
  readonly grants: readonly { readonly orgId: string; readonly role: string }[];
  /** Entities a key, an agent or an invitation is limited to; null is no limit. */
  readonly entities: readonly string[] | null;
  readonly confirmationMode: 'policy' | 'always' | 'human';
  readonly curfewExempt: boolean;
  /** From the root down to the organization of the door. */
  readonly path: readonly string[];
  readonly zones: Readonly<Record<string, string>>;
  readonly target: ReferencePlace;
  readonly openers: readonly ReferencePlace[];
  readonly verb: 'open' | 'close' | 'toggle';
  readonly policies: readonly ReferencePolicy[];
  readonly nowMs: number;
  /** Of custom policies, by their id: whether it forbids this action at this place. */
  readonly custom: (policyId: string, question: CustomQuestion) => boolean;
}

export interface CustomQuestion extends Local {
  readonly holiday: boolean;
  readonly place: ReferencePlace;
  readonly action: ReferenceCase['verb'];
}

export interface Local {
  readonly date: string;
  readonly minute: number;
  readonly weekday: number;
}

export interface ReferenceAnswer {
  readonly effect: 'allow' | 'confirm' | 'approve' | 'deny';
  readonly policies: readonly string[];
  readonly wouldHave: readonly string[];
  readonly approvals: number;
}

export function referenceDecision(asked: ReferenceCase): ReferenceAnswer {
  const effects: string[] = mayOperate(asked) ? [] : ['deny'];
  const named: string[] = [];
  const wouldHave: string[] = [];
  let approvals = 1;
  if (asked.kind === 'agent' && asked.verb !== 'close') {
    if (asked.confirmationMode === 'human') effects.push('approve');
    if (asked.confirmationMode === 'always') effects.push('confirm');
  }
  for (const policy of asked.verb === 'close' ? [] : asked.policies) {
    if (!applies(policy, asked)) continue;
    if (policy.policyType === 'approval_threshold') {
      if (policy.enforcement === 'enforce') approvals = Math.max(approvals, Number(policy.config.count));
      continue;
    }
    if (!holdsNow(policy, asked)) continue;
    if (policy.enforcement === 'audit_only') {
      wouldHave.push(policy.id);
      continue;
    }
    named.push(policy.id);
    if (policy.enforcement === 'require_approval') effects.push('approve');
    else effects.push(policy.policyType === 'require_step_up' ? 'confirm' : 'deny');
  }
  const effect = (['deny', 'approve', 'confirm'] as const).find((one) => effects.includes(one)) ?? 'allow';
  return { effect, policies: named.sort(), wouldHave: wouldHave.sort(), approvals };
}

function mayOperate({ kind, grants, entities, path, target }: ReferenceCase): boolean {
  const here = path.at(-1);
  if (entities !== null && !entities.includes(target.entityId)) return false;
  if (kind === 'guest') return true;
  return grants.some(({ orgId, role }) => {
    if (orgId === here && (role === 'admin' || role === 'entities:set_state')) return true;
    if (role === 'admin') return kind !== 'agent' && path.includes(orgId);
    const building = `virtual_access:integration:${target.integrationId}:`;
    return orgId === here && (role === `${building}manager` || role === `${building}resident`);
  });
}

function isSameDevice(policy: ReferencePolicy, place: ReferencePlace): boolean {
  if (policy.deviceId === place.deviceId) return true;
  return policy.hardwareId !== null && policy.hardwareId === place.hardwareId;
}

/** Of the door and whatever it opens through, what the policy is about. */
function placesOf(policy: ReferencePolicy, asked: ReferenceCase): ReferencePlace[] {
  const { output: wanted } = policy.config;
  const output = wanted === undefined || wanted === null ? null : String(wanted);
  return [asked.target, ...asked.openers].filter(
    (place) =>
      (policy.scope === 'org' ||
        (policy.scope === 'integration' && place.integrationId === policy.integrationId) ||
        (policy.scope === 'device' && isSameDevice(policy, place))) &&
      (output === null || output === place.output || output === place.entityId),
  );
}

function applies(policy: ReferencePolicy, asked: ReferenceCase): boolean {
  const { config } = policy;
  if (!policy.enabled || !asked.path.includes(policy.orgId)) return false;
  if (policy.capability !== null && policy.capability !== 'switchable') return false;
  if (placesOf(policy, asked).length === 0) return false;
  if (policy.policyType === 'invitation_curfew' && (asked.kind !== 'guest' || asked.curfewExempt))
    return false;
  const wanted = config.applies_to as string[] | undefined;
  return (
    wanted === undefined || wanted.includes('all') || classesOf(asked).some((one) => wanted.includes(one))
  );
}

function classesOf({ kind, grants, path }: ReferenceCase): string[] {
  if (kind === 'guest') return ['invitation'];
  if (kind !== 'user') return [kind];
  if (grants.some(({ orgId, role }) => role === 'admin' && path.includes(orgId))) return ['admin'];
  const roles = grants.filter(({ orgId }) => orgId === path.at(-1)).map(({ role }) => role);
  const resident = roles.filter((role) => role.endsWith(':resident'));
  if (resident.length === 0) return ['member'];
  return resident.length === roles.length ? ['resident'] : ['member', 'resident'];
}

const known = new Map<string, Local>();

/** Temporal is slow, and the same minutes come again. */
function localOf(zone: string, nowMs: number): Local {
  const key = `${zone} ${Math.floor(nowMs / 60_000)}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  const there = Temporal.Instant.fromEpochMilliseconds(nowMs).toZonedDateTimeISO(zone);
  const local = {
    date: there.toPlainDate().toString(),
    minute: there.hour * 60 + there.minute,
    weekday: there.dayOfWeek % 7,
  };
  known.set(key, local);
  return local;
}

function holdsNow(policy: ReferencePolicy, asked: ReferenceCase): boolean {
  const { policyType, config } = policy;
  if (policyType === 'require_step_up') return true;
  const local = localOf(asked.zones[policy.orgId] ?? 'UTC', asked.nowMs);
  const holiday = asked.policies.some(
    (other) =>
      other.policyType === 'holiday_calendar' &&
      applies(other, asked) &&
      (other.config.dates as string[]).includes(localOf(asked.zones[other.orgId] ?? 'UTC', asked.nowMs).date),
  );
  if (policyType === 'cedar') {
    // Nobody knows whether a toggle opens: what forbids the one or the other forbids it.
    const actions = asked.verb === 'toggle' ? (['open', 'toggle'] as const) : [asked.verb];
    return placesOf(policy, asked).some((place) =>
      actions.some((action) => asked.custom(policy.id, { ...local, holiday, place, action })),
    );
  }
  if (policyType === 'quiet_hours' && config.holiday_calendar === true && holiday) return true;
  const windows =
    policyType === 'quiet_hours'
      ? [config]
      : policyType === 'invitation_curfew'
        ? (config.windows as object[])
        : [];
  return windows.some((window) => {
    const { start, end } = window as { start: string; end: string };
    const now = `${String(Math.floor(local.minute / 60)).padStart(2, '0')}:${String(local.minute % 60).padStart(2, '0')}`;
    return start <= end ? start <= now && now <= end : now >= start || now <= end;
  });
}
