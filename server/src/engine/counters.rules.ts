import type { Principal } from '../kernel/call.ts';
import { mayOpen } from '../policy/verb-rules.ts';
import type { Verb } from '../providers/provider.ts';

export type CounterKey = 'door_opens' | 'voice_invocations';
export type CounterPeriod = 'day' | 'month';

/** The periods in which a key is limited, as interface 4.2 has them. */
export const counterPeriods: Readonly<Record<CounterKey, readonly CounterPeriod[]>> = {
  door_opens: ['day', 'month'],
  voice_invocations: ['day'],
};

/** What an action consumes, in one order. Only what may open counts; through a credential it is a voice invocation too. */
export function countersOf(verb: Verb, principal: Principal): readonly CounterKey[] {
  if (!mayOpen(verb)) return [];
  return principal.kind === 'user' ? ['door_opens'] : ['door_opens', 'voice_invocations'];
}
