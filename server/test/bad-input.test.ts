// Whatever is wrong with a request, the caller is told with a 4xx and a code, and nothing is written. Never a 5xx.
import type { TSchema } from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scenarios } from './support/scenario.ts';
import { administrator } from './support/scenario-actors.ts';
import { badBodyViolations } from './support/scenario-bad-input.ts';
import {
  answerViolations,
  type BadRequest,
  type Base,
  badRequestViolations,
  credentialCases,
  framingCases,
  headerCases,
  pathCases,
  queryCases,
} from './support/scenario-bad-requests.ts';
import { sessionActor } from './support/scenario-signin.ts';
import {
  boundOperations,
  createMember,
  createTenant,
  type Operation,
  type Tenant,
} from './support/scenario-world.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

/** Of made-up bodies per operation; more find more, at the price of time. */
const runs = Number(process.env.FUZZ_RUNS ?? 60);

function takesBody(operation: Operation): operation is Operation & { readonly body: TSchema } {
  return operation.body !== undefined;
}

describe('bad input', () => {
  let app: TestApp;
  let tenant: Tenant;
  let bases: Base[];
  beforeAll(async () => {
    app = await startTestApp();
    tenant = await createTenant(app, 'hostile');
    bases = await Promise.all(boundOperations(app).map(baseOf));
  });
  afterAll(() => app.close());

  const actorFor = async ({ auth }: Operation) =>
    auth === 'session'
      ? sessionActor(app, await createMember(app, tenant, 'admin'), 'a person at a browser')
      : administrator(app, tenant);

  async function baseOf(operation: Operation): Promise<Base> {
    const actor = await actorFor(operation);
    const prepared = await scenarios[operation.id].prepare({ app, tenant, actor, disposable: false });
    return { operation, actor, prepared };
  }

  const violationsOf = (cases: (base: Base) => BadRequest[], test: (base: Base) => boolean = () => true) =>
    badRequestViolations(app, bases.filter(test).flatMap(cases));

  it('in a made-up body is refused by every operation that takes one', async () => {
    const violations: string[] = [];
    for (const operation of boundOperations(app).filter(takesBody)) {
      const stage = { app, tenant, actor: await actorFor(operation), disposable: false };
      violations.push(...(await badBodyViolations({ app, stage, operation, runs })));
    }
    expect(violations).toEqual([]);
  }, 120_000);

  it('in the framing of a body is refused by every operation that takes one', async () => {
    expect(await violationsOf(framingCases, ({ operation }) => takesBody(operation))).toEqual([]);
  });

  it('in the address is refused by every operation with a parameter', async () => {
    expect(await violationsOf(pathCases)).toEqual([]);
  });

  it('in the query is refused by every operation that declares it so', async () => {
    expect(await violationsOf(queryCases)).toEqual([]);
  });

  it('in the credentials is 401 for every operation that asks for some', async () => {
    expect(await violationsOf(credentialCases, ({ operation }) => operation.auth !== 'public')).toEqual([]);
  });

  it('in headers makes no kind of operation fail', async () => {
    const kinds = Map.groupBy(
      bases.filter(({ operation }) => operation.audit === null),
      ({ operation: { auth, org, agents } }) => `${auth} ${org} ${agents}`,
    );
    const oneOfEach = [...kinds.values()].flatMap(([first]) => (first === undefined ? [] : [first]));
    expect(await badRequestViolations(app, oneOfEach.flatMap(headerCases))).toEqual([]);
    const readsHeaders = bases.filter(({ operation }) => operation.headers !== undefined);
    expect(await answerViolations(app, readsHeaders.flatMap(headerCases))).toEqual([]);
  });
});
