// wire-facts 4: what the hub's words mean.
import type { Delivery, ObservedStatus, Verb } from '../provider.ts';
import type { HttpOutcome } from '../transport/http-once.ts';

export interface HubEntity {
  readonly id: string;
  readonly domain: string;
}

export interface HubState {
  readonly entityId: string;
  readonly state: string;
  readonly supportedFeatures: number;
  readonly contextId: string | null;
  /** What people call it; null when the hub has no name for it. */
  readonly name: string | null;
}

export function parseHubEntity(externalId: string | null): HubEntity | null {
  const match = /^([a-z0-9_]{1,64})\.[a-z0-9_]{1,200}$/.exec(externalId ?? '');
  return match?.[1] === undefined ? null : { id: match[0], domain: match[1] };
}

type Services = { readonly [V in Verb]?: string };

const SWITCHED: Services = { open: 'turn_on', close: 'turn_off', toggle: 'toggle' };
const PRESSED: Services = { open: 'press' };

const SERVICES: ReadonlyMap<string, Services> = new Map([
  ['switch', SWITCHED],
  ['light', SWITCHED],
  ['input_boolean', SWITCHED],
  ['siren', SWITCHED],
  ['script', SWITCHED],
  ['cover', { open: 'open_cover', close: 'close_cover', toggle: 'toggle' }],
  ['lock', { open: 'unlock', close: 'lock' }],
  ['button', PRESSED],
  ['input_button', PRESSED],
]);

const LOCK_CAN_UNLATCH = 1;

/** The service of the hub for a verb; null where its kind of entity has none. */
export function serviceFor(domain: string, verb: Verb, { supportedFeatures }: HubState): string | null {
  if (domain === 'lock' && verb === 'open' && (supportedFeatures & LOCK_CAN_UNLATCH) !== 0) return 'open';
  return SERVICES.get(domain)?.[verb] ?? null;
}

/** These have no lasting state: a button shows the time of its last press, a script whether it runs. */
export const isMomentary = (domain: string): boolean => /^(button|input_button|script)$/.test(domain);

/**
 * Why a command would silently do nothing: the hub answers 200 even when it skips the entity. A button that was never
 * pressed is `unknown` and can be pressed.
 */
export function obstacleOf(domain: string, { state }: HubState): string | null {
  if (state === 'unavailable') return 'the hub cannot reach the device';
  if (state === 'unknown' && !domain.endsWith('button'))
    return 'the hub does not know the state of the device';
  return null;
}

const STATUS: Readonly<Record<string, ObservedStatus>> = {
  on: 'open',
  off: 'closed',
  open: 'open',
  opening: 'open',
  closing: 'open',
  closed: 'closed',
  unlocked: 'open',
  unlocking: 'open',
  locking: 'open',
  locked: 'closed',
};

/** On its way counts as open: only a door that has arrived is closed. */
export const statusOf = (state: string): ObservedStatus =>
  (Object.hasOwn(STATUS, state) && STATUS[state]) || 'unknown';

const CONFIRMS: Record<'open' | 'close', ReadonlySet<string>> = {
  open: new Set(['on', 'open', 'opening', 'unlocked', 'unlocking']),
  close: new Set(['off', 'closed', 'closing', 'locked']),
};

/** Whether this state shows that the command took effect. A toggle shows in any change between open and closed. */
export function confirms(verb: Verb, before: HubState, now: HubState): boolean {
  if (verb !== 'toggle') return CONFIRMS[verb].has(now.state);
  return now.state !== before.state && statusOf(now.state) !== 'unknown';
}

const MOVING = new Set(['opening', 'closing', 'unlocking', 'locking']);

/** A door on its way has not been observed where it was told to be. */
export const observedIn = ({ state }: HubState): ObservedStatus | null =>
  MOVING.has(state) ? null : statusOf(state);

export function readState(value: unknown): HubState | null {
  const { entity_id: entityId, state, attributes, context } = objectOf(value);
  if (typeof entityId !== 'string' || typeof state !== 'string') return null;
  const { supported_features: features, friendly_name: name } = objectOf(attributes);
  const contextId = objectOf(context).id;
  return {
    entityId,
    state,
    supportedFeatures: typeof features === 'number' ? features : 0,
    contextId: typeof contextId === 'string' ? contextId : null,
    name: typeof name === 'string' && name !== '' ? name.slice(0, 200) : null,
  };
}

export function parseState(body: string): HubState | null {
  return readState(parseJson(body));
}

/** Null for what is no list of states. */
export function parseStates(body: string): HubState[] | null {
  const list = parseJson(body);
  return Array.isArray(list) ? list.map(readState).filter((state) => state !== null) : null;
}

/** What can stand for a door or a light. */
export const isOffered = ({ entityId }: HubState): boolean =>
  /^(switch|light|lock|cover|button|input_button|input_boolean|script)\./.test(entityId);

const HTTP_REFUSALS: Readonly<Record<number, string>> = {
  400: 'the hub does not accept the command',
  401: 'the hub does not accept the token',
  403: 'the hub does not let this service in',
  404: 'the hub does not know it',
};

/** What an answer to a service call over HTTP means; null when the hub has carried it out. */
export function failureOf(outcome: HttpOutcome): Exclude<Delivery, { kind: 'delivered' }> | null {
  if (outcome.kind !== 'response') return outcome;
  if (outcome.status === 200) return null;
  const reason = HTTP_REFUSALS[outcome.status];
  if (reason !== undefined) return { kind: 'refused', reason };
  return { kind: 'unknown', reason: `the hub answered ${outcome.status}` };
}

/** Error codes of the websocket with which nothing was carried out. With any other the device may have acted first. */
const SURE_CODES = new Set([
  'id_reuse',
  'invalid_format',
  'not_allowed',
  'not_found',
  'not_supported',
  'service_validation_error',
  'unknown_command',
  'unauthorized',
]);

export function failureOfCode(code: string): Exclude<Delivery, { kind: 'delivered' }> {
  if (SURE_CODES.has(code)) return { kind: 'refused', reason: `the hub refused (${code})` };
  return { kind: 'unknown', reason: 'the hub failed while it carried out the command' };
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const objectOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? { ...value } : {};
