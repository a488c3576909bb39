import type { Principal } from '../kernel/call.ts';
import type { Verb } from '../providers/provider.ts';

export interface Counter {
  readonly key: 'door_opens' | 'voice_invocations';
  readonly period: 'day' | 'month';
  /** As stored: day:2026-11-15, month:2026-11. UTC calendar. */
  readonly label: string;
}

/** What an action consumes. Only an open counts; through a credential it also counts as a voice invocation. */
export function countersOf(verb: Verb, principal: Principal, now: Date): Counter[] {
  if (verb !== 'open') return [];
  const date = now.toISOString();
  const day = `day:${date.slice(0, 10)}`;
  const opens: Counter[] = [
    { key: 'door_opens', period: 'day', label: day },
    { key: 'door_opens', period: 'month', label: `month:${date.slice(0, 7)}` },
  ];
  return principal.kind === 'user'
    ? opens
    : [...opens, { key: 'voice_invocations', period: 'day', label: day }];
}
