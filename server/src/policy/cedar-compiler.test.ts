// Generated policies and facts, evaluated by the closures and by the wasm engine.
import { readFileSync } from 'node:fs';
import * as cedar from '@cedar-policy/cedar-wasm/nodejs';
import { describe, expect, it } from 'vitest';
import { scaled } from '../../test/faults/scale.ts';
import { type Random, randomOf } from '../../test/support/decision-worlds.ts';
import {
  authorize,
  cedarPolicies,
  compileCustom,
  entitiesOf,
  loadBasePolicies,
  parsedBasePolicies,
  validationProblem,
} from './cedar-engine.ts';
import {
  type CedarRecord,
  type CedarRequest,
  type CedarValue,
  type EntityRef,
  entityRef,
  keyOf,
} from './cedar-values.ts';

const pick = <T>(random: Random, values: readonly T[]): T => values[random(values.length)] as T;
const ids = ['a', 'b', 'c'];
const entityText = (random: Random) => `${pick(random, ['User', 'Org', 'Door'])}::"${pick(random, ids)}"`;
const attribute = (random: Random) =>
  pick(random, ['flag', 'count', 'name', 'friends', 'owner', 'inner', 'none']);

function leaf(random: Random): string {
  return pick(random, [
    () => String(random(2) === 0),
    () => String(random(5) - 2),
    () => JSON.stringify(pick(random, ['', 'x', 'xay', 'y"*\\'])),
    () => entityText(random),
    () => pick(random, ['principal', 'resource', 'action', 'context']),
    () => `${pick(random, ['principal', 'resource', 'context'])}.${attribute(random)}`,
    () => `principal.inner.${attribute(random)}`,
    () => `[${entityText(random)}, ${entityText(random)}]`,
    () => `[${random(3)}, ${random(3)}]`,
    () => `{ count: ${random(3)}, name: "x" }`,
    () => '[]',
  ])();
}

function truth(random: Random, depth: number): string {
  if (depth === 0) return pick(random, [`context.flag`, 'true', `(principal has ${attribute(random)})`]);
  const value = () => (random(6) === 0 ? truth(random, depth - 1) : leaf(random));
  const inner = () => truth(random, depth - 1);
  return pick(random, [
    () => `(${inner()} && ${inner()})`,
    () => `(${inner()} || ${inner()})`,
    () => `!${inner()}`,
    () => `(if ${inner()} then ${inner()} else ${inner()})`,
    () => `(${value()} == ${value()})`,
    () => `(${value()} != ${value()})`,
    () => `(${value()} ${pick(random, ['<', '<=', '>', '>='])} ${value()})`,
    () => `(${value()} in ${value()})`,
    () => `(${pick(random, ['principal', 'resource'])} in ${entityText(random)})`,
    () => `${pick(random, ['principal.friends', '[1, 2]', leaf(random)])}.contains(${value()})`,
    () => `[${value()}, ${value()}].containsAll([${value()}])`,
    () => `principal.friends.containsAny([${value()}, ${value()}])`,
    () => `(${pick(random, ['principal.friends', '[]', leaf(random)])}).isEmpty()`,
    () =>
      `(${pick(random, ['principal', 'resource', 'context', entityText(random)])} has ${attribute(random)})`,
    () => `(principal has inner.${attribute(random)})`,
    () =>
      `(${pick(random, ['principal', 'principal.owner', leaf(random)])} is ${pick(random, ['User', 'Door'])})`,
    () => `(resource is Door in ${entityText(random)})`,
    () =>
      `(${pick(random, ['principal.name', '"xaya"', leaf(random)])} like "${pick(random, ['x*', '*a*', '*', '', 'x\\*', '*a*a'])}")`,
  ])();
}

function policyText(random: Random): string {
  const principal = pick(random, [
    'principal',
    'principal is User',
    `principal in ${entityText(random)}`,
    `principal == ${entityText(random)}`,
    `principal is User in ${entityText(random)}`,
  ]);
  const action = pick(random, [
    'action',
    'action == Action::"open"',
    'action in Action::"operate"',
    'action in [Action::"open", Action::"close"]',
  ]);
  const resource = pick(random, ['resource', 'resource is Door', `resource in ${entityText(random)}`]);
  const clause = () => `${pick(random, ['when', 'unless'])} { ${truth(random, 1 + random(3))} }`;
  const clauses = Array.from({ length: random(3) }, clause).join(' ');
  return `${pick(random, ['permit', 'forbid'])} (${principal}, ${action}, ${resource}) ${clauses};`;
}

function attributes(random: Random): CedarRecord {
  const all: Record<string, CedarValue> = {
    flag: random(2) === 0,
    count: random(4),
    name: pick(random, ['x', 'xay', 'xaaay', '']),
    friends: ids.slice(0, random(4)).map((id) => entityRef('User', id)),
    owner: entityRef(pick(random, ['User', 'Door']), pick(random, ids)),
    inner: { count: random(3), name: 'x' },
  };
  return Object.fromEntries(Object.entries(all).filter(() => random(8) > 0));
}

function requestOf(random: Random): CedarRequest {
  const orgs = ids.map((id) => entityRef('Org', id));
  const entity = (uid: EntityRef, ancestors: readonly EntityRef[]) => ({
    uid,
    attrs: attributes(random),
    ancestors,
  });
  const operate = entityRef('Action', 'operate');
  const actions = ['open', 'close', 'toggle'].map((id) => entityRef('Action', id));
  const entities = [
    ...ids.filter(() => random(5) > 0).map((id) => entity(entityRef('User', id), orgs.slice(0, random(4)))),
    ...ids.map((id) => entity(entityRef('Door', id), orgs.slice(0, random(4)))),
    ...orgs.map((uid) => ({ uid, attrs: {}, ancestors: [] })),
    ...actions.map((uid) => ({ uid, attrs: {}, ancestors: [operate] })),
  ];
  return {
    principal: entityRef('User', pick(random, ids)),
    action: pick(random, actions),
    resource: entityRef('Door', pick(random, ids)),
    context: attributes(random),
    entities: new Map(entities.map((one) => [keyOf(one.uid), one])),
  };
}

/** As the wasm engine answers, with one rule of ours: a forbid that errs is a forbid. */
function oracle(setId: string, forbids: ReadonlySet<string>, request: CedarRequest): string {
  const answer = cedar.statefulIsAuthorized({
    principal: request.principal.__entity,
    action: request.action.__entity,
    resource: request.resource.__entity,
    context: request.context as cedar.Context,
    preparsedPolicySetId: setId,
    entities: entitiesOf(request),
  });
  if (answer.type === 'failure') throw new Error(JSON.stringify(answer.errors));
  const { decision, diagnostics } = answer.response;
  const erring = diagnostics.errors.map(({ policyId }) => policyId).filter((id) => forbids.has(id));
  const permitsOnly = decision === 'allow';
  const determining =
    erring.length === 0 ? diagnostics.reason : [...erring, ...(permitsOnly ? [] : diagnostics.reason)];
  return JSON.stringify([decision === 'allow' && erring.length === 0, [...new Set(determining)].sort()]);
}

function compare(
  seed: number,
  sets: number,
  requests: number,
): { wrong: string[]; allowed: number; compiled: number } {
  const random = randomOf(seed);
  const seen = { wrong: [] as string[], allowed: 0, compiled: 0 };
  for (let set = 0; set < sets; set += 1) {
    const texts = Object.fromEntries(Array.from({ length: 5 }, (_, n) => [`p${n}`, policyText(random)]));
    const policies = Object.entries(texts).map(([id, text]) => compileCustom(id, text));
    const parsed = cedar.preparsePolicySet('fuzz', { staticPolicies: texts });
    expect(parsed.type).toBe('success');
    const forbids = new Set(policies.filter(({ effect }) => effect === 'forbid').map(({ id }) => id));
    seen.compiled += policies.filter(({ compiled }) => compiled).length;
    for (let n = 0; n < requests; n += 1) {
      const request = requestOf(random);
      const { allowed, determining } = authorize(policies, request);
      const answer = JSON.stringify([allowed, determining.map(({ id }) => id).sort()]);
      const wanted = oracle('fuzz', forbids, request);
      if (allowed) seen.allowed += 1;
      if (answer !== wanted)
        seen.wrong.push(
          `${answer} instead of ${wanted}: ${JSON.stringify(texts)} ${JSON.stringify([...request.entities.values()])} ${JSON.stringify(request.context)}`,
        );
    }
  }
  return seen;
}

it('lintel.cedar.json is lintel.cedar, parsed: run `npm run generate`', () => {
  const file = readFileSync(new URL('./lintel.cedar.json', import.meta.url), 'utf8');
  expect(JSON.parse(file)).toEqual(parsedBasePolicies());
});

describe('Cedar as closures', () => {
  it('decides as the wasm engine does, for the same policies', () => {
    const sets = scaled(200, 4_000);
    const { wrong, allowed, compiled } = compare(4, sets, 12);
    expect(wrong.slice(0, 2)).toEqual([]);
    // Almost all of them are closures: the others hold a minus before what is no number.
    expect(compiled).toBeGreaterThan(4.9 * sets);
    expect(allowed).toBeGreaterThan(100);
  });

  it.each([
    ['arithmetic', 'context.count + 1 == 2', true],
    ['a large number', 'context.count < 9007199254740993', true],
    ['an address', 'ip("10.0.0.1").isLoopback()', false],
    ['a tag', 'principal.hasTag("x")', false],
  ])('leaves %s to the wasm engine', (_name, condition, holds) => {
    const policy = compileCustom('p', `forbid (principal, action, resource) when { ${condition} };`);
    const request = { ...requestOf(randomOf(1)), context: { count: 1 } };
    expect(policy.compiled).toBe(false);
    expect(policy.satisfied(request)).toBe(holds);
  });

  it('lets a forbid that errs deny, whoever evaluates it', () => {
    const request = { ...requestOf(randomOf(1)), context: {} };
    for (const condition of ['context.none', 'context.none + 1 == 2']) {
      const allow = compileCustom('p', 'permit (principal, action, resource);');
      const forbid = compileCustom('f', `forbid (principal, action, resource) when { ${condition} };`);
      expect(authorize([allow], request).allowed).toBe(true);
      expect(authorize([allow, forbid], request)).toMatchObject({
        allowed: false,
        determining: [{ id: 'f' }],
      });
    }
  });
});

describe('lintel.cedar', () => {
  it('fits lintel.cedarschema, and each policy has a closure, a name and a message', () => {
    expect(validationProblem(cedarPolicies)).toBeNull();
    const policies = loadBasePolicies();
    expect(policies.length).toBeGreaterThan(5);
    expect(policies.filter(({ compiled, readsContext }) => !compiled || readsContext)).toEqual([]);
    expect(new Set(policies.map(({ id }) => id)).size).toBe(policies.length);
  });
});
