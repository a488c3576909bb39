import type { EffectivePolicies } from '@lintel/contract/policies';
import type { StoredPolicy } from '../../policy/org-policies.ts';
import type { PolicyConfig, PolicyType } from '../../policy/policy-kinds.ts';

export type EffectiveRules = Omit<EffectivePolicies, 'policies' | 'timezone'>;

const defaultShareSeconds = 86_400;
const sharingModes = ['none', 'admin_only', 'approval_required', 'all'] as const;

/** What the policies in force say together: limits are the smallest, permissions what all allow, prohibitions all there are. */
export function effectiveRules(inForce: readonly StoredPolicy[]): EffectiveRules {
  const enforced = inForce.filter(({ enabled, enforcement }) => enabled && enforcement !== 'audit_only');
  const of = <T extends PolicyType>(type: T) =>
    enforced.filter(({ policyType }) => policyType === type).map(({ config }) => config as PolicyConfig<T>);
  const has = (type: PolicyType) => enforced.some(({ policyType }) => policyType === type);
  const days = of('invitation_allowed_days');
  const identity = of('invitation_require_identity');
  return {
    curfew_windows: of('invitation_curfew').flatMap(curfewWindows),
    user_sharing_mode: strictestMode(of('user_sharing').map(({ mode }) => mode)),
    allowed_creator_roles: common(of('invite_creator_roles').map((config) => config.allowed_roles)),
    allowed_entry_kinds: common(of('invitation_allowed_entry_kinds').map(({ kinds }) => kinds)),
    allowed_weekdays: common(days.flatMap(({ weekdays }) => (weekdays === undefined ? [] : [weekdays]))),
    blackout_dates: blackouts(days, of('holiday_calendar')),
    prohibited_master_door_ids: all(
      of('prohibit_master_door_invites').map((config) => config.master_door_ids),
    ),
    max_active_per_user: smallest(of('invitation_max_active_per_user').map(({ max }) => max)),
    max_doors: smallest(of('max_doors_per_invite').map(({ max }) => max)),
    max_duration_seconds: smallest(of('invitation_max_duration').map((config) => config.max_seconds)),
    max_uses: smallest(of('invitation_max_uses').map((config) => config.max_uses)),
    share_default_max_uses: smallest(of('share_default_max_uses').map((config) => config.max_uses)),
    share_max_duration_seconds:
      smallest(of('share_max_duration').map((config) => config.max_seconds)) ?? defaultShareSeconds,
    share_max_uses: smallest(of('share_max_uses').map((config) => config.max_uses)),
    no_reshare: has('no_reshare'),
    no_transitive_delegation: has('no_transitive_delegation'),
    require_expiry: has('require_expiry'),
    require_justification: has('invitation_require_justification'),
    require_photo: identity.some((config) => config.require_photo === true),
    require_pin: identity.some((config) => config.require_pin === true),
    require_verified_phone: identity.some((config) => config.require_verified_phone === true),
    restrict_to_own_listing_doors: has('restrict_to_own_listing_doors'),
    share_allow_unlimited: of('share_allow_unlimited').every(({ allowed }) => allowed),
  };
}

function curfewWindows({ windows, start, end }: PolicyConfig<'invitation_curfew'>) {
  const single = start === undefined || end === undefined ? [] : [{ start, end }];
  return [...(windows ?? []), ...single];
}

function strictestMode(modes: readonly (typeof sharingModes)[number][]): (typeof sharingModes)[number] {
  return sharingModes.find((mode) => modes.includes(mode)) ?? 'all';
}

/** Holidays count where a rule about days asks for them. */
function blackouts(
  days: readonly PolicyConfig<'invitation_allowed_days'>[],
  calendars: readonly PolicyConfig<'holiday_calendar'>[],
): string[] | null {
  const asksForHolidays = days.some((config) => config.holiday_calendar === true);
  const own = days.flatMap((config) => (config.blackout_dates === undefined ? [] : [config.blackout_dates]));
  return all([...own, ...(asksForHolidays ? calendars.map(({ dates }) => dates) : [])]);
}

function smallest(limits: readonly number[]): number | null {
  return limits.length === 0 ? null : Math.min(...limits);
}

/** Null: nothing is said, so everything is allowed. */
function common<T>(lists: readonly (readonly T[])[]): T[] | null {
  const [first, ...others] = lists;
  return first === undefined ? null : first.filter((item) => others.every((list) => list.includes(item)));
}

function all<T>(lists: readonly (readonly T[])[]): T[] | null {
  return lists.length === 0 ? null : [...new Set(lists.flat())].sort();
}
