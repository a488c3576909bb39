// The decision beside a second one that was written from the rules. The mutants show that the cases would tell.
import { afterAll, describe, expect, it } from 'vitest';
import { scaled } from '../../test/faults/scale.ts';
import { createSharedRow } from '../../test/faults/shared-row.ts';
import { referenceDecision } from '../../test/support/decision-reference.ts';
import {
  type DecisionCase,
  type DecisionWorld,
  generateWorld,
  randomOf,
  snapshotOf,
} from '../../test/support/decision-worlds.ts';
import { type CedarRequest, keyOf } from '../policy/cedar-values.ts';
import type { ActivePolicy, CedarRule, OrgPolicies, StoredPolicy } from '../policy/org-policies.ts';
import type { PolicySnapshot } from '../policy/typed-rules.ts';
import { type DecisionFacts, decide } from './decide.ts';

const cases = scaled(100_000, 1_000_000);
const casesPerWorld = 100;
/** The same cases in every run: more of them make a run longer, not another one. */
const ownSeed = 20_261_115;

interface Change {
  readonly policy?: (policy: StoredPolicy) => StoredPolicy | null;
  readonly facts?: (facts: DecisionCase) => Partial<DecisionFacts>;
  readonly path?: (path: readonly string[]) => readonly string[];
  readonly zones?: (zones: Readonly<Record<string, string>>) => Record<string, string>;
  /** Of a custom policy. The case is the one that is asked when the rule is. */
  readonly cedar?: (rule: CedarRule, current: () => DecisionCase) => CedarRule;
}

/** With other custom policies. */
function withCedar({ orgs }: PolicySnapshot, change: (rule: CedarRule) => CedarRule): PolicySnapshot {
  const changed = (policies: readonly ActivePolicy[]) =>
    policies.map((policy) =>
      policy.rule.kind === 'cedar' ? { ...policy, rule: change(policy.rule) } : policy,
    );
  const each = (index: OrgPolicies['byDevice']) =>
    new Map([...index].map(([id, policies]) => [id, changed(policies)]));
  return {
    orgs: orgs.map((org) => ({
      ...org,
      orgWide: changed(org.orgWide),
      byIntegration: each(org.byIntegration),
      byDevice: each(org.byDevice),
      byHardware: each(org.byHardware),
    })),
  };
}

/** It is asked only some of what it should be. */
function onlyAbout(isAsked: (request: CedarRequest, asked: DecisionCase) => boolean): Change {
  return {
    cedar: (rule, current) => ({
      ...rule,
      policy: () => {
        const policy = rule.policy();
        return (
          policy && {
            ...policy,
            satisfied: (request) => isAsked(request, current()) && policy.satisfied(request),
          }
        );
      },
    }),
  };
}

/** The engine, with one thing about it changed. */
function engineOf(world: DecisionWorld, change: Change = {}): (asked: DecisionCase) => string {
  const stored = world.policies
    .map(change.policy ?? ((policy) => policy))
    .filter((policy) => policy !== null);
  const path = change.path?.(world.org.path) ?? world.org.path;
  const real = snapshotOf(path, change.zones?.(world.zones) ?? world.zones, stored);
  const { cedar } = change;
  let current: DecisionCase;
  const policies = cedar === undefined ? real : withCedar(real, (rule) => cedar(rule, () => current));
  return (asked) => {
    current = asked;
    const { principal, org, target, openers, verb, nowMs } = asked;
    const answer = decide({
      principal,
      org,
      target,
      openers,
      verb,
      nowMs,
      policies,
      ...change.facts?.(asked),
    });
    const typed = answer.reasons.flatMap(({ policyId }) => (policyId?.startsWith('p') ? [policyId] : []));
    return JSON.stringify({
      effect: answer.effect,
      policies: typed.sort(),
      wouldHave: answer.wouldHave.map(({ policyId }) => policyId).sort(),
      approvals: answer.requiredApprovals,
    });
  };
}

/** Cases in which the engine and the rules do not agree; the first world with one of them is the last. */
function disagreements(
  seed: number,
  count: number,
  change?: Change,
): { found: readonly string[]; done: number } {
  const random = randomOf(seed);
  const found: string[] = [];
  let done = 0;
  for (; done < count && found.length === 0; done += casesPerWorld) {
    const world = generateWorld(random);
    const ask = engineOf(world, change);
    for (let n = 0; n < casesPerWorld; n += 1) {
      const asked = world.next();
      const [answer, wanted] = [ask(asked), JSON.stringify(referenceDecision(asked.reference))];
      if (answer !== wanted) found.push(`${answer} instead of ${wanted} for ${JSON.stringify(asked)}`);
    }
  }
  return { found, done };
}

describe('the decision', () => {
  const row = createSharedRow(35, 'policy differential', ownSeed);
  let compared = 0;
  afterAll(() => row.write(`${compared} cases compared`));

  it(
    `agrees with the reference on ${cases} generated cases`,
    () => {
      const { found, done } = disagreements(ownSeed, cases);
      compared = done;
      expect(row.found(found)).toEqual([]);
    },
    cases,
  );

  it.each<[string, Change]>([
    ['forgets the organizations above', { path: (path) => path.slice(-1) }],
    [
      'takes the door’s zone for all',
      { zones: (zones) => Object.fromEntries(Object.keys(zones).map((id) => [id, zones.leaf ?? 'UTC'])) },
    ],
    [
      'asks about a close as about an open',
      { facts: ({ verb }) => ({ verb: verb === 'close' ? 'open' : verb }) },
    ],
    [
      'enforces what only watches',
      {
        policy: (policy) => ({
          ...policy,
          enforcement: policy.enforcement === 'audit_only' ? 'enforce' : policy.enforcement,
        }),
      },
    ],
    [
      'takes consent for a confirmation',
      {
        policy: (policy) => ({
          ...policy,
          enforcement: policy.enforcement === 'require_approval' ? 'enforce' : policy.enforcement,
        }),
      },
    ],
    ['applies disabled policies', { policy: (policy) => ({ ...policy, enabled: true }) }],
    [
      'forgets whom a policy is for',
      { policy: (policy) => ({ ...policy, config: { ...policy.config, applies_to: ['all'] } }) },
    ],
    [
      'forgets which output',
      { policy: (policy) => ({ ...policy, config: { ...policy.config, output: null } }) },
    ],
    ['forgets the capability', { policy: (policy) => ({ ...policy, capability: null }) }],
    ['ends quiet hours a minute early', { policy: earlier }],
    ['forgets what a portal opens through', { facts: () => ({ openers: [] }) }],
    [
      'asks Cedar about the portal only',
      onlyAbout(({ resource }, { target }) => keyOf(resource) === `Entity::${target.entityId}`),
    ],
    [
      'asks a custom policy of one device about all places',
      { cedar: (rule) => ({ ...rule, within: { integrationId: null, deviceId: null } }) },
    ],
    ['binds one device of a piece of hardware', { policy: (policy) => ({ ...policy, hardwareId: null }) }],
    [
      'asks a custom policy of a piece of hardware about one device',
      { cedar: (rule) => ({ ...rule, within: { ...rule.within, hardwareId: null } }) },
    ],
    [
      'asks Cedar about a toggle only as one',
      onlyAbout(({ action }, { verb }) => keyOf(action) === `Action::${verb}`),
    ],
    [
      'takes a toggle for nothing but an open',
      { facts: ({ verb }) => ({ verb: verb === 'toggle' ? 'open' : verb }) },
    ],
    ['takes a toggle for a close', { facts: ({ verb }) => ({ verb: verb === 'toggle' ? 'close' : verb }) }],
    ['forgets calendars', { policy: (policy) => (policy.policyType === 'holiday_calendar' ? null : policy) }],
    ['is an hour late', { facts: ({ nowMs }) => ({ nowMs: nowMs - 3_600_000 }) }],
  ])('would be told apart if it %s', (name, change) => {
    expect(row.mutant(name, disagreements(7, 20_000, change).found)).not.toEqual([]);
  });
});

describe('a kept answer', () => {
  const door = {
    entityId: 'e',
    entityType: 'door',
    externalId: null,
    metadata: {},
    deviceId: 'd',
    deviceExternalId: null,
    integrationId: 'i',
    providerType: 'virtual_demo',
  };
  const org = { id: 'o', path: ['o'], epoch: 1, timezone: null, defaultLocale: 'en', deletedAt: null };
  const policies = snapshotOf(['o'], {}, [
    {
      id: 'p',
      orgId: 'o',
      scope: 'org',
      integrationId: null,
      deviceId: null,
      policyType: 'quiet_hours',
      capability: null,
      config: { start: '22:00', end: '05:59', applies_to: ['member'] },
      enforcement: 'enforce',
      enabled: true,
    },
  ]);
  const asked = (role: 'admin' | 'entities:set_state' | 'orgs:read', minute: number) =>
    decide({
      principal: { kind: 'user', userId: 'u', sessionId: 's', grants: [{ orgId: 'o', role }] },
      org,
      target: door,
      verb: 'open',
      policies,
      nowMs: minute * 60_000,
    }).effect;

  it('is good for its minute only, and for these very rights only', () => {
    expect(asked('entities:set_state', 21 * 60 + 59)).toBe('allow');
    expect(asked('entities:set_state', 22 * 60)).toBe('deny');
    expect(asked('admin', 22 * 60)).toBe('allow');
    expect(asked('entities:set_state', 5 * 60 + 59)).toBe('deny');
    expect(asked('entities:set_state', 6 * 60)).toBe('allow');
    expect(asked('orgs:read', 6 * 60)).toBe('deny');
    expect(asked('entities:set_state', 6 * 60)).toBe('allow');
  });
});

function earlier(policy: StoredPolicy): StoredPolicy {
  const { end } = policy.config;
  if (policy.policyType !== 'quiet_hours' || typeof end !== 'string' || end.endsWith('00')) return policy;
  return {
    ...policy,
    config: {
      ...policy.config,
      end: `${end.slice(0, 3)}${String(Number(end.slice(3)) - 1).padStart(2, '0')}`,
    },
  };
}
