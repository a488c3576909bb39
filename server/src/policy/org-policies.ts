import { createLru } from '../kernel/lru.ts';
import type { AccessPlace } from './access-facts.ts';
import { type CompiledCedar, compileCustom } from './cedar-engine.ts';
import {
  type Hold,
  type HoldReach,
  isForGood,
  type Lockdown,
  minuteOf,
  type Span,
  spanOf,
} from './hold-rules.ts';
import {
  type Enforcement,
  type PolicyConfig,
  type PolicyPrincipalKind,
  type PolicyScope,
  type PolicyType,
  principalKinds,
} from './policy-kinds.ts';
import { dayOfDate } from './zone-clock.ts';

/** A row of `policies`. */
export interface StoredPolicy {
  readonly id: string;
  readonly orgId: string;
  readonly scope: PolicyScope;
  readonly integrationId: string | null;
  readonly deviceId: string | null;
  /** Of the device, where it is known world-wide. */
  readonly hardwareId?: string | null;
  readonly policyType: PolicyType;
  readonly capability: string | null;
  readonly config: Readonly<Record<string, unknown>>;
  readonly enforcement: Enforcement;
  readonly enabled: boolean;
}

/** Minutes of the day, both inclusive; may wrap midnight. */
export interface DayWindow {
  readonly start: number;
  readonly end: number;
}

export interface WindowRule {
  readonly kind: 'window';
  readonly windows: readonly DayWindow[];
  readonly onHolidays: boolean;
}

export interface CedarRule {
  readonly kind: 'cedar';
  readonly policy: () => CompiledCedar | null;
  /** It is asked about the places in here only. */
  readonly within: Pick<StoredPolicy, 'integrationId' | 'deviceId' | 'hardwareId'>;
}

export type ActiveRule =
  | { readonly kind: 'always' }
  | WindowRule
  | { readonly kind: 'span'; readonly span: Span }
  | CedarRule
  | { readonly kind: 'threshold'; readonly count: number }
  | { readonly kind: 'holidays'; readonly days: ReadonlySet<number> };

export interface ActivePolicy {
  readonly id: string;
  readonly type: PolicyType | 'hold' | 'lockdown';
  readonly scope: PolicyScope | 'entity';
  readonly zone: string;
  readonly enforcement: Enforcement;
  /** One bit for each kind of principal it is for. */
  readonly appliesTo: number;
  readonly output: string | null;
  readonly rule: ActiveRule;
  /** Of a hold: which entities of its device. */
  readonly reach?: HoldReach;
  /** Where somebody gave a reason. */
  readonly reason?: string | null;
}

/** Of a device; see `HoldReach` for which of its entities. */
export interface OpenHold extends HoldReach {
  readonly id: string;
  readonly zone: string;
  readonly span: Span;
}

/** The enabled policies of one organization that have a say in entity actions, by where they hold. */
export interface OrgPolicies {
  readonly orgWide: readonly ActivePolicy[];
  readonly byIntegration: ReadonlyMap<string, readonly ActivePolicy[]>;
  readonly byDevice: ReadonlyMap<string, readonly ActivePolicy[]>;
  /** In place of the device, where its hardware is known. */
  readonly byHardware: ReadonlyMap<string, readonly ActivePolicy[]>;
  readonly lockdown: ActivePolicy | null;
  /** Doors that stay open, by device. */
  readonly openHolds: ReadonlyMap<string, readonly OpenHold[]>;
}

/** What is not written as a policy, and has a say as one. */
export interface Standing {
  readonly holds: readonly Hold[];
  readonly lockdown: Lockdown | null;
}

const everybody = -1;
const nothing: readonly ActivePolicy[] = [];

export function kindBits(kinds: readonly PolicyPrincipalKind[]): number {
  return kinds.reduce((bits, kind) => bits | (1 << principalKinds.indexOf(kind)), 0);
}

/** Wall time is that of the organization that set the policy: one below must not shift the hours of one above. */
export function indexPolicies(
  zone: string,
  stored: readonly StoredPolicy[],
  { holds, lockdown }: Standing = { holds: [], lockdown: null },
): OrgPolicies {
  const orgWide: ActivePolicy[] = [];
  const byIntegration = new Map<string, ActivePolicy[]>();
  const byDevice = new Map<string, ActivePolicy[]>();
  const byHardware = new Map<string, ActivePolicy[]>();
  for (const row of stored) {
    const active = activePolicy(zone, row);
    if (active === null) continue;
    if (row.hardwareId) append(byHardware, row.hardwareId, active);
    else if (row.deviceId !== null) append(byDevice, row.deviceId, active);
    else if (row.integrationId !== null) append(byIntegration, row.integrationId, active);
    else orgWide.push(active);
  }
  const openHolds = new Map<string, OpenHold[]>();
  for (const hold of holds) {
    if (hold.mode === 'hold_open') append(openHolds, hold.deviceId, openHold(zone, hold));
    else if (hold.entityId === null && hold.hardwareId)
      append(byHardware, hold.hardwareId, closedHold(zone, hold));
    else append(byDevice, hold.deviceId, closedHold(zone, hold));
  }
  const locked = lockdown === null ? null : lockdownPolicy(zone, lockdown);
  return { orgWide, byIntegration, byDevice, byHardware, openHolds, lockdown: locked };
}

function openHold(zone: string, hold: Hold): OpenHold {
  const { id, entityId, includeLights } = hold;
  return { id, zone, span: spanOf(hold), entityId, includeLights };
}

function closedHold(zone: string, hold: Hold): ActivePolicy {
  const { entityId, includeLights, reason } = hold;
  return {
    ...standing(zone, hold.id, spanOf(hold)),
    type: 'hold',
    scope: entityId === null ? 'device' : 'entity',
    reach: { entityId, includeLights },
    reason,
  };
}

function lockdownPolicy(zone: string, { id, until, reason }: Lockdown): ActivePolicy {
  return { ...standing(zone, id, spanOf({ until })), type: 'lockdown', scope: 'org', reason };
}

function standing(zone: string, id: string, span: Span) {
  const rule: ActiveRule = isForGood(span) ? { kind: 'always' } : { kind: 'span', span };
  return { id, zone, enforcement: 'enforce', appliesTo: everybody, output: null, rule } as const;
}

type Place = Pick<AccessPlace, 'integrationId' | 'deviceId' | 'hardwareId'>;

export function policiesAt(policies: OrgPolicies, place: Place): readonly ActivePolicy[] {
  const ofIntegration = policies.byIntegration.get(place.integrationId) ?? nothing;
  const ofDevice = policies.byDevice.get(place.deviceId) ?? nothing;
  const ofHardware = place.hardwareId ? (policies.byHardware.get(place.hardwareId) ?? nothing) : nothing;
  const found = ofIntegration.length + ofDevice.length + ofHardware.length;
  return found === 0 ? nothing : [...ofIntegration, ...ofDevice, ...ofHardware];
}

/** The same as the index above, for one policy. */
export function isWithin(
  { integrationId, deviceId, hardwareId }: CedarRule['within'],
  place: Place,
): boolean {
  if (hardwareId) return hardwareId === place.hardwareId;
  if (deviceId !== null) return deviceId === place.deviceId;
  return integrationId === null || integrationId === place.integrationId;
}

function append<T>(index: Map<string, T[]>, key: string, item: T): void {
  const known = index.get(key);
  if (known === undefined) index.set(key, [item]);
  else known.push(item);
}

function activePolicy(zone: string, row: StoredPolicy): ActivePolicy | null {
  const rule = row.enabled && coversSwitching(row.capability) ? ruleOf(row) : null;
  if (rule === null) return null;
  const { applies_to: appliesTo, output } = row.config as PolicyConfig<'require_step_up'>;
  return {
    id: row.id,
    type: row.policyType,
    scope: row.scope,
    zone,
    enforcement: row.enforcement,
    appliesTo: appliesTo === undefined || appliesTo.includes('all') ? everybody : kindBits(appliesTo),
    output: output === undefined || output === null ? null : String(output),
    rule,
  };
}

/** Entity actions are those of one capability; a policy about another one has no say in them. */
function coversSwitching(capability: string | null): boolean {
  return capability === null || capability === 'switchable';
}

type RuleMaker = (config: StoredPolicy['config'], row: StoredPolicy) => ActiveRule;

/** Kinds that are not here have no say in entity actions. */
const ruleMakers: Partial<Record<PolicyType, RuleMaker>> = {
  require_step_up: () => ({ kind: 'always' }),
  quiet_hours: (config) => {
    const hours = config as PolicyConfig<'quiet_hours'>;
    return { kind: 'window', windows: [windowOf(hours)], onHolidays: hours.holiday_calendar === true };
  },
  invitation_curfew: (config) => ({
    kind: 'window',
    windows: curfewWindows(config as PolicyConfig<'invitation_curfew'>),
    onHolidays: false,
  }),
  cedar: (config, { id, integrationId, deviceId, hardwareId = null }) => ({
    kind: 'cedar',
    policy: once(() => customPolicy(id, (config as PolicyConfig<'cedar'>).policy)),
    within: { integrationId, deviceId, hardwareId },
  }),
  approval_threshold: (config) => ({
    kind: 'threshold',
    count: (config as PolicyConfig<'approval_threshold'>).count,
  }),
  holiday_calendar: (config) => ({
    kind: 'holidays',
    days: new Set((config as PolicyConfig<'holiday_calendar'>).dates.map(dayOfDate)),
  }),
};

function ruleOf(row: StoredPolicy): ActiveRule | null {
  return ruleMakers[row.policyType]?.(row.config, row) ?? null;
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Parsing is done by the wasm engine and takes a while: on first use, and kept however often rows are read again. */
const parsed = createLru<string, CompiledCedar | null>(10_000);

/** Null where the text no longer parses, perhaps under a newer version of the language: then it must not be skipped. */
function customPolicy(id: string, text: string): CompiledCedar | null {
  const key = `${id} ${text}`;
  const known = parsed.get(key);
  if (known !== undefined) return known;
  const policy = parseCustom(id, text);
  parsed.set(key, policy);
  return policy;
}

function parseCustom(id: string, text: string): CompiledCedar | null {
  try {
    return compileCustom(id, text);
  } catch {
    return null;
  }
}

function curfewWindows({ windows, start, end }: PolicyConfig<'invitation_curfew'>): readonly DayWindow[] {
  const single = start === undefined || end === undefined ? [] : [{ start, end }];
  return [...(windows ?? []), ...single].map(windowOf);
}

function windowOf({ start, end }: { readonly start: string; readonly end: string }): DayWindow {
  return { start: minuteOf(start), end: minuteOf(end) };
}
