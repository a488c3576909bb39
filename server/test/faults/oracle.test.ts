import { describe, expect, it } from 'vitest';
import { type Evidence, violationsOf } from './oracle.ts';

const intent = {
  id: 'i1',
  entityId: 'e',
  correlationId: 'c',
  state: 'succeeded',
  createdAt: 1000,
  notAfter: 6000,
};
const event = { attemptId: 'i1', correlationId: 'c', outcome: 'succeeded' };
const command = { at: 1100, entityId: 'e' };
const wish = { key: 'k', entityId: 'e', at: 900, succeeded: ['i1'] };
const good: Evidence = { commands: [command], intents: [intent], events: [event], wishes: [wish] };
const other = { ...intent, id: 'i2', createdAt: 1500 };

describe('the oracle', () => {
  it('accepts what is right: also a lost reply, and a retry of what was not sent', () => {
    expect(violationsOf(good)).toEqual([]);
    const lost = { ...intent, state: 'unknown' };
    expect(violationsOf({ ...good, intents: [lost], wishes: [{ ...wish, succeeded: [] }] })).toEqual([]);
    expect(violationsOf({ ...good, commands: [], intents: [lost], wishes: [] })).toEqual([]);
    const first = { ...intent, id: 'i0', state: 'not_sent', createdAt: 950 };
    const events = [event, { ...event, attemptId: 'i0' }];
    expect(violationsOf({ ...good, intents: [first, intent], events })).toEqual([]);
  });

  it('accepts a command given up at the deadline before the device had read it, whichever was asked first', () => {
    const givenUp = { ...intent, id: 'i0', state: 'unknown', createdAt: 950, notAfter: 5950 };
    const events = [event, { ...event, attemptId: 'i0' }];
    expect(violationsOf({ ...good, intents: [givenUp, intent], events })).toEqual([]);
  });

  it.each<[string, Partial<Evidence>, RegExp]>([
    ['a repeated command', { commands: [command, { ...command, at: 1200 }] }, /^\(i\) a second command/],
    [
      'two commands of two intents for one key',
      {
        commands: [command, { ...command, at: 1600 }],
        intents: [intent, other],
        events: [event, { ...event, attemptId: 'i2' }],
      },
      /^\(i\) 2 commands for the key k/,
    ],
    ['a command without an intent', { intents: [], events: [], wishes: [] }, /^\(ii\) a command without/],
    [
      'a command for an intent that was not sent',
      { intents: [{ ...intent, state: 'not_sent' }], wishes: [] },
      /^\(ii\) a command without/,
    ],
    [
      'a command of an unknown id',
      { commands: [{ ...command, intentId: 'x' }] },
      /^\(ii\) a command without/,
    ],
    ['a lost event', { events: [] }, /^\(ii\) i1 has 0 events/],
    ['a doubled event', { events: [event, event] }, /^\(ii\) i1 has 2 events/],
    ['a foreign correlation id', { events: [{ ...event, correlationId: 'x' }] }, /another correlation id/],
    [
      'an intent without an outcome',
      { intents: [{ ...intent, state: 'dispatching' }], events: [], wishes: [] },
      /^\(iii\) i1/,
    ],
    ['an invented success', { commands: [], wishes: [] }, /^\(iv\) i1 is a success without/],
    [
      'one success too many',
      { intents: [intent, other], events: [event, { ...event, attemptId: 'i2' }] },
      /^\(iv\) i2 is a success without/,
    ],
    ['an answer that is not true', { intents: [{ ...intent, state: 'unknown' }] }, /^\(iv\) i1 was answered/],
    ['a late command', { commands: [{ ...command, at: 7100 }] }, /^\(v\)/],
  ])('notices %s', (_name, change, expected) => {
    expect(violationsOf({ ...good, ...change }).join('\n')).toMatch(new RegExp(expected.source, 'm'));
  });
});
