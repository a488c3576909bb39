import type { ActionId } from '@lintel/contract/actions';
import type { Verb } from '../providers/provider.ts';

const verbs: Readonly<Record<string, Verb>> = {
  'switchable.open': 'open',
  'switchable.close': 'close',
  'switchable.toggle': 'toggle',
  open: 'open',
  on: 'open',
  close: 'close',
  off: 'close',
  toggle: 'toggle',
};

/** Only these can be switched; a sensor or a directory listing has no such action. */
const switchableTypes = new Set(['switch', 'light', 'door']);

export function isSwitchable(entityType: string): boolean {
  return switchableTypes.has(entityType);
}

export function verbOf(actionId: string, entityType: string): Verb | null {
  if (!isSwitchable(entityType) || !Object.hasOwn(verbs, actionId)) return null;
  return verbs[actionId] ?? null;
}

export function actionIdOf(verb: Verb): ActionId {
  return `switchable.${verb}`;
}

/** A toggle becomes open or close where the state is known, so that a repeated one can not do the opposite. */
export function resolveToggle(verb: Verb, status: 'open' | 'closed' | 'unknown'): Verb {
  if (verb !== 'toggle' || status === 'unknown') return verb;
  return status === 'open' ? 'close' : 'open';
}

export type PulseChoice =
  | { readonly ok: true; readonly seconds: number | null }
  | { readonly ok: false; readonly reason: string };

interface PulseSources {
  readonly payload: unknown;
  readonly entityMetadata: Record<string, string>;
  readonly deviceMetadata: Record<string, unknown>;
  readonly providerDefault: number | null;
}

const maxPulseSeconds = 86_400;

/** How long the door stays open: the payload, else the entity, else the device, else the provider. 0 keeps it open. */
export function pulseSeconds(sources: PulseSources): PulseChoice {
  const asked = memberOf(sources.payload, 'auto_close');
  if (asked !== undefined) {
    const seconds = secondsOf(asked);
    if (seconds === null)
      return { ok: false, reason: `must be a number of seconds from 0 to ${maxPulseSeconds}` };
    return { ok: true, seconds: seconds === 0 ? null : seconds };
  }
  const stored = secondsOf(sources.entityMetadata.auto_close) ?? secondsOf(sources.deviceMetadata.auto_close);
  if (stored === null) return { ok: true, seconds: sources.providerDefault };
  return { ok: true, seconds: stored === 0 ? null : stored };
}

function memberOf(payload: unknown, name: string): unknown {
  return typeof payload === 'object' && payload !== null && Object.hasOwn(payload, name)
    ? Reflect.get(payload, name)
    : undefined;
}

/** Metadata values are strings; payloads carry numbers. */
function secondsOf(value: unknown): number | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && number >= 0 && number <= maxPulseSeconds ? number : null;
}
