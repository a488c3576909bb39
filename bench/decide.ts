import { type Decision, type DecisionFacts, decide } from '../server/src/engine/decide.ts';
import type { UserPrincipal } from '../server/src/kernel/call.ts';
import { indexPolicies, type StoredPolicy } from '../server/src/policy/org-policies.ts';

const policyCount = 10_000;
const doors = 500;
const zone = 'Europe/Berlin';
const org = {
  id: 'org',
  path: ['root', 'org'],
  epoch: 1,
  timezone: zone,
  defaultLocale: 'en',
  deletedAt: null,
};
const types = ['quiet_hours', 'require_step_up', 'cedar'] as const;

/** One decision in memory, with 10,000 policies in the organization: kept, and made for the first time. */
export async function benchDecide(): Promise<void> {
  for (const [name, policies] of [
    ['spread over devices and integrations', spread()],
    ['all on the organization', orgWide()],
  ] as const) {
    const started = performance.now();
    const index = indexPolicies(zone, policies);
    console.log(
      `${policyCount} policies, ${name}: indexed in ${(performance.now() - started).toFixed(1)} ms`,
    );
    report('  memoised', memoised(index));
    report('  cold', cold(index));
  }
}

type Index = ReturnType<typeof indexPolicies>;

function memoised(index: Index): number[] {
  const policies = { orgs: [index] };
  const nowMs = Date.parse('2026-11-15T12:00:30Z');
  const facts = Array.from({ length: doors }, (_, door) => factsOf(door, policies, nowMs));
  for (const asked of facts) decide(asked);
  // A principal read afresh is another object: the slower of the two ways to a kept answer.
  const fresh = facts.map((asked) => ({ ...asked, principal: { ...(asked.principal as UserPrincipal) } }));
  return [...facts, ...fresh].flatMap((asked) => Array.from({ length: 100 }, () => microseconds(asked)));
}

function cold(index: Index): number[] {
  decide(factsOf(0, { orgs: [index] }, Date.parse('2026-11-15T12:00:00Z')));
  return Array.from({ length: 500 }, (_, n) =>
    microseconds(factsOf(n % doors, { orgs: [index] }, Date.parse('2026-11-15T12:00:00Z') + n * 60_000)),
  );
}

function microseconds(asked: DecisionFacts): number {
  const started = performance.now();
  const decision: Decision = decide(asked);
  const took = (performance.now() - started) * 1000;
  if (decision.effect === undefined) throw new Error('no decision');
  return took;
}

function report(name: string, samples: number[]): void {
  const sorted = samples.sort((a, b) => a - b);
  const at = (share: number) => (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(2);
  console.log(`${name}: p50 ${at(0.5)} µs, p99 ${at(0.99)} µs, most ${at(1)} µs, ${sorted.length} decisions`);
}

function factsOf(door: number, policies: DecisionFacts['policies'], nowMs: number): DecisionFacts {
  return {
    principal: {
      kind: 'user',
      userId: 'user',
      sessionId: 'session',
      grants: [{ orgId: 'org', role: 'entities:set_state' }],
    },
    org,
    target: {
      entityId: `entity${door}`,
      entityType: 'door',
      externalId: null,
      metadata: {},
      deviceId: `device${door}`,
      deviceExternalId: null,
      integrationId: `integration${door % 50}`,
      providerType: 'virtual_demo',
    },
    verb: 'open',
    policies,
    nowMs,
  };
}

function spread(): StoredPolicy[] {
  return Array.from({ length: policyCount }, (_, n) => {
    if (n < 20) return policyOf(n, null, null);
    const door = n % doors;
    return policyOf(n, `integration${door % 50}`, n % 5 === 0 ? null : `device${door}`);
  });
}

function orgWide(): StoredPolicy[] {
  return Array.from({ length: policyCount }, (_, n) => policyOf(n, null, null));
}

/** A few of them Cedar, with one text each for many: what the compiler keeps is not what is measured. */
function policyOf(n: number, integrationId: string | null, deviceId: string | null): StoredPolicy {
  const policyType = n % 100 === 2 ? 'cedar' : (types[n % 2] ?? 'quiet_hours');
  const hour = String(n % 24).padStart(2, '0');
  const config = {
    quiet_hours: { start: `${hour}:00`, end: `${hour}:30` },
    require_step_up: { applies_to: ['agent'] },
    cedar: { policy: `forbid (principal is Agent, action, resource) when { context.minute < ${n % 1440} };` },
  }[policyType];
  return {
    id: `policy${n}`,
    orgId: 'org',
    scope: deviceId !== null ? 'device' : integrationId !== null ? 'integration' : 'org',
    integrationId,
    deviceId,
    policyType,
    capability: null,
    config,
    enforcement: 'enforce',
    enabled: true,
  };
}
