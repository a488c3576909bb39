import type { Verb } from '../providers/provider.ts';

/** A toggle is left as one only where nobody knows how the door stands. Then it may open it: it is held to all an open is. */
export function mayOpen(verb: Verb): boolean {
  return verb !== 'close';
}

/** What a custom policy is asked about, when this is sent: a toggle also as the open that it may be. */
export function askedActions(verb: Verb): readonly Verb[] {
  return verb === 'toggle' ? ['open', 'toggle'] : [verb];
}
