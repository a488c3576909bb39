import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type {
  AgentPrincipal,
  KeyPrincipal,
  OrgScope,
  Principal,
  RoleGrant,
  UserPrincipal,
} from '../kernel/call.ts';
import type { Verb } from '../providers/provider.ts';
import { pulseSeconds, resolveToggle, verbOf } from './action.rules.ts';
import { countersOf } from './counters.rules.ts';
import { decide } from './decide.ts';
import type { NewIntent } from './intents.store.ts';
import { outcomeOf, replay } from './outcome.rules.ts';
import type { Target } from './target.store.ts';

const org: OrgScope = {
  id: 'O',
  path: ['O'],
  epoch: 1,
  timezone: null,
  defaultLocale: 'en',
  deletedAt: null,
};
const target = {
  entityId: 'E',
  entityType: 'door',
  externalId: null,
  metadata: {},
  deviceId: 'D',
  deviceExternalId: null,
  integrationId: 'I',
  providerType: 'virtual_demo',
} as unknown as Target;
const operator: RoleGrant = { orgId: 'O', role: 'entities:set_state' };
const decided = (principal: Principal, verb: Verb) =>
  decide({ principal, org, target, verb, policies: { orgs: [] }, nowMs: 0 });
const user: UserPrincipal = { kind: 'user', userId: 'U', grants: [operator], sessionId: 'S' };
const stranger: UserPrincipal = { ...user, grants: [] };
const key = (scopedEntityIds: string[] | null): KeyPrincipal => ({
  kind: 'api_key',
  userId: 'U',
  keyId: 'K',
  grants: [operator],
  org,
  expiresAt: new Date(0),
  scopedEntityIds,
});
const agent = (
  allowedEntityIds: string[],
  confirmationMode: AgentPrincipal['confirmationMode'] = 'policy',
): AgentPrincipal => ({
  ...key(null),
  kind: 'agent',
  agentId: 'A',
  allowedEntityIds,
  confirmationMode,
});

describe('action names', () => {
  it.each([
    ['switchable.open', 'door', 'open'],
    ['on', 'light', 'open'],
    ['off', 'switch', 'close'],
    ['toggle', 'door', 'toggle'],
    ['open', 'sensor', null],
    ['open', 'directory_listing', null],
    ['Switchable.Open', 'door', null],
    ['__proto__', 'door', null],
    ['toString', 'door', null],
  ])('%s on a %s is %s', (action, type, verb) => {
    expect(verbOf(action, type)).toBe(verb);
  });

  it.each([
    ['toggle', 'open', 'close'],
    ['toggle', 'closed', 'open'],
    ['toggle', 'unknown', 'toggle'],
    ['open', 'open', 'open'],
    ['close', 'unknown', 'close'],
  ] as const)('%s of a door that is %s sends %s', (verb, status, sent) => {
    expect(resolveToggle(verb, status)).toBe(sent);
  });
});

describe('how long a door stays open', () => {
  const sources = { payload: {}, entityMetadata: {}, deviceMetadata: {}, providerDefault: 5 };

  it('takes the payload, else the entity, else the device, else the provider', () => {
    const all = {
      payload: { auto_close: 1 },
      entityMetadata: { auto_close: '2' },
      deviceMetadata: { auto_close: 3 },
      providerDefault: 5,
    };
    expect(pulseSeconds(all)).toEqual({ ok: true, seconds: 1 });
    expect(pulseSeconds({ ...all, payload: {} })).toEqual({ ok: true, seconds: 2 });
    expect(pulseSeconds({ ...all, payload: {}, entityMetadata: {} })).toEqual({ ok: true, seconds: 3 });
    expect(pulseSeconds(sources)).toEqual({ ok: true, seconds: 5 });
  });

  it('keeps it open for 0, and refuses what is no time', () => {
    expect(pulseSeconds({ ...sources, payload: { auto_close: 0 } })).toEqual({ ok: true, seconds: null });
    for (const auto_close of [-1, Number.NaN, 'soon', null, true, 86_401, {}]) {
      expect(pulseSeconds({ ...sources, payload: { auto_close } }).ok).toBe(false);
    }
  });

  it('never throws and never exceeds a day, whatever the payload', () => {
    fc.assert(
      fc.property(fc.anything(), (payload) => {
        const choice = pulseSeconds({ ...sources, payload });
        return !choice.ok || choice.seconds === null || (choice.seconds > 0 && choice.seconds <= 86_400);
      }),
    );
  });
});

describe('decisions', () => {
  it.each([
    ['a user with the role', user, 'open', 'allow'],
    ['a user without it', stranger, 'open', 'deny'],
    ['a user without it', stranger, 'close', 'deny'],
    ['an unscoped key', key(null), 'open', 'allow'],
    ['a key scoped to the door', key(['E']), 'open', 'allow'],
    ['a key scoped to another door', key(['F']), 'open', 'deny'],
    ['a key scoped to no door', key([]), 'open', 'deny'],
    ['an agent without a list', agent([]), 'open', 'deny'],
    ['an agent with the door', agent(['E']), 'open', 'allow'],
    ['a confirming agent', agent(['E'], 'always'), 'open', 'confirm'],
    ['a confirming agent that closes', agent(['E'], 'always'), 'close', 'allow'],
    ['a confirming agent without the door', agent([], 'always'), 'open', 'deny'],
    ['an agent that needs a human', agent(['E'], 'human'), 'open', 'approve'],
    ['an agent that needs a human and closes', agent(['E'], 'human'), 'close', 'allow'],
  ] as const)('%s: %s may %s: %s', (_name, principal, verb, effect) => {
    expect(decided(principal, verb).effect).toBe(effect);
  });

  it('names the rule of every refusal', () => {
    const [reason] = decided(agent([]), 'open').reasons;
    expect(reason).toMatchObject({ policyId: 'A', policyType: 'agent_allow_list', effect: 'deny' });
  });
});

describe('what an action consumes', () => {
  it.each([
    ['open', user, ['door_opens']],
    ['open', key(null), ['door_opens', 'voice_invocations']],
    ['open', agent(['E']), ['door_opens', 'voice_invocations']],
    ['close', key(null), []],
    ['toggle', key(null), ['door_opens', 'voice_invocations']],
    ['toggle', user, ['door_opens']],
  ] as const)('%s', (verb, principal, keys) => {
    expect(countersOf(verb, principal)).toEqual(keys);
  });
});

describe('how long it stays open', () => {
  const intent = { correlationId: 'C', id: 'I', entityId: 'E', orgId: 'O' } as unknown as NewIntent;
  const measured = { latencyMs: 1, now: new Date(0) };

  it.each([
    ['open', null, 5],
    ['open', 'open', 5],
    ['toggle', 'open', 5],
    ['toggle', 'closed', undefined],
    ['toggle', null, undefined],
  ] as const)('after a %s that was seen to leave it %s is %s', (verb, observed, seconds) => {
    const action = { org, target, verb, actionId: `switchable.${verb}`, pulseSeconds: 5 };
    const { answer } = outcomeOf(action, intent, { kind: 'delivered', observed }, measured);
    expect(answer).toMatchObject({ ok: true });
    expect(Reflect.get(answer, 'door_open_duration_seconds')).toBe(seconds);
  });
});

describe('replaying a stored result', () => {
  const stored = { id: 'I', state: 'succeeded', result: { ok: true }, sameRequest: true } as const;

  it.each([
    [{ ...stored, sameRequest: false }, 'idempotency_key_conflict'],
    [{ ...stored, state: 'dispatching' as const }, 'idempotency_key_in_flight'],
    [{ ...stored, state: 'unknown' as const }, 'outcome_unknown'],
    [{ ...stored, state: 'refused' as const }, 'device_refused'],
  ])('%o is %s', (intent, code) => {
    expect(() => replay(intent)).toThrow(expect.objectContaining({ code }));
  });

  it('marks a success as replayed', () => {
    expect(replay(stored)).toEqual({ ok: true, replayed: true });
  });
});
