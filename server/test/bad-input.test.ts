// Whatever is wrong with a request, the caller is told with a 4xx and a code, and nothing is written. Never a 5xx.
import { Closed } from '@lintel/contract/common';
import type { OperationId } from '@lintel/contract/operations';
import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AppError } from '../src/kernel/app-error.ts';
import type { Handlers } from '../src/kernel/handler.ts';
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
import { faultyHandlers } from './support/scenario-faults.ts';
import { type BodyOperation, takesBody } from './support/scenario-mass-assignment.ts';
import { sessionActor } from './support/scenario-signin.ts';
import { type Listening, listen, type SocketAnswer } from './support/scenario-sockets.ts';
import {
  createMember,
  createTenant,
  everyOperation,
  type Operation,
  type Tenant,
} from './support/scenario-world.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

/** Of made-up bodies per operation; more find more, at the price of time. */
const runs = Number(process.env.FUZZ_RUNS ?? 60);

describe('bad input', () => {
  let app: TestApp;
  let tenant: Tenant;
  let bases: Base[];
  beforeAll(async () => {
    app = await startTestApp();
    tenant = await createTenant(app, 'hostile');
    bases = await Promise.all(everyOperation.map(baseOf));
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

  it(
    'in a made-up body is refused by every operation that takes one',
    async () => {
      const violations: string[] = [];
      for (const operation of everyOperation.filter(takesBody)) {
        const stage = { app, tenant, actor: await actorFor(operation), disposable: false };
        violations.push(...(await badBodyViolations({ app, stage, operation, runs })));
      }
      expect(violations).toEqual([]);
    },
    60_000 + 2_000 * runs,
  );

  it('in the framing of a body is refused by every operation that takes one', async () => {
    expect(await violationsOf(framingCases, ({ operation }) => takesBody(operation))).toEqual([]);
  });

  it('in the address is refused by every operation with a parameter', async () => {
    expect(await violationsOf(pathCases)).toEqual([]);
  });

  it('in the query is refused by every operation that declares it so', async () => {
    const isChange = ({ operation }: Base) => operation.audit !== null;
    expect(await violationsOf(queryCases, (base) => !isChange(base))).toEqual([]);
    // A change with an odd query may be taken, one with a wrong query may not.
    const changes = bases.filter(isChange).flatMap(queryCases);
    const isWrong = ({ wanted }: BadRequest) => wanted === 400;
    expect(await badRequestViolations(app, changes.filter(isWrong))).toEqual([]);
    expect(
      await answerViolations(
        app,
        changes.filter((each) => !isWrong(each)),
      ),
    ).toEqual([]);
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

describe('bad requests on a real connection', () => {
  let app: TestApp;
  let server: Listening;
  beforeAll(async () => {
    app = await startTestApp();
    server = await listen(app, { timeoutMs: 400, lookEveryMs: 100 });
  });
  afterAll(() => app.close());

  const get = 'GET /api/v1/status HTTP/1.1\r\nHost: x\r\n';
  const post = 'POST /api/v1/invitations/preview HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
  const codeIn = (answer: SocketAnswer) => (JSON.parse(answer.body) as { code: string }).code;

  it('are answered at all when there is nothing wrong', async () => {
    const answer = await server.exchange([`${get}Connection: close\r\n\r\n`]);
    expect(answer.status).toBe(200);
  });

  it('with 20 KB of headers get 431', async () => {
    const answer = await server.exchange([`${get}X-Long: ${'x'.repeat(20_000)}\r\n\r\n`]);
    expect([answer.status, codeIn(answer)]).toEqual([431, 'headers_too_large']);
  });

  it('with 3000 headers get 431', async () => {
    const many = Array.from({ length: 3000 }, (_, index) => `X-${index}: ${index}\r\n`).join('');
    const answer = await server.exchange([`${get}${many}\r\n`]);
    expect([answer.status, codeIn(answer)]).toEqual([431, 'headers_too_large']);
  });

  it.each([
    ['whose headers never end', [get, 'X-Slow: ', 'y', 'y', 'y', 'y', 'y', 'y', 'y']],
    ['whose body never ends', [`${post}Content-Length: 100\r\n\r\n`, '{', ' ', ' ', ' ', ' ', ' ', ' ']],
  ])('%s get 408', async (_, pieces) => {
    const answer = await server.exchange(pieces, { pauseMs: 150 });
    expect([answer.status, codeIn(answer)]).toEqual([408, 'request_timeout']);
  });

  it.each([
    ['two lengths', `${post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
    ['a length and chunks', `${post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a chunk size that is none', `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`],
    ['a negative length', `${post}Content-Length: -1\r\n\r\n{}`],
    ['a coding in disguise', `${post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ['a space before the colon', `${get}X-Odd : 1\r\n\r\n`],
    ['a folded header', `${get}X-Odd: 1\r\n  2\r\n\r\n`],
    ['a NUL in a header', `${get}X-Odd: a\0b\r\n\r\n`],
    ['a bare CR', `${get}X-Odd: a\rb\r\n\r\n`],
    ['no host', 'GET /api/v1/status HTTP/1.1\r\n\r\n'],
    ['an unknown method', 'SPELL /api/v1/status HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['no HTTP', '\x16\x03\x01\x02\x00\x01\x00\r\n\r\n'],
  ])('with %s get 400', async (_, text) => {
    const answer = await server.exchange([text]);
    expect(answer.status).toBe(400);
    // Without a host Node itself answers, with no body but the empty last chunk.
    if (answer.body !== '0') expect(codeIn(answer)).toBe('validation_error');
  });

  it('of 300 slow clients do not keep a quick one waiting', async () => {
    const slow = Array.from({ length: 300 }, () => server.exchange([get, 'X-Slow: '], { pauseMs: 50 }));
    const quick = await server.exchange([`${get}Connection: close\r\n\r\n`]);
    expect(quick.status).toBe(200);
    const answers = await Promise.all(slow);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([408]));
  });
});

describe('the check of bad input notices', () => {
  let app: TestApp;
  let tenant: Tenant;
  let faults: (good: Handlers) => Partial<Handlers> = () => ({});
  beforeAll(async () => {
    app = await startTestApp({ wrapHandlers: (good) => faultyHandlers(good, () => faults(good)) });
    tenant = await createTenant(app, 'faulty');
  });
  afterAll(() => app.close());

  const operation = (id: OperationId): BodyOperation => {
    const found = everyOperation.filter(takesBody).find((each) => each.id === id);
    if (found === undefined) throw new Error(`${id} takes no body`);
    return found;
  };
  const check = async (subject: BodyOperation) => {
    const stage = { app, tenant, actor: tenant.admin, disposable: false };
    return (await badBodyViolations({ app, stage, operation: subject, runs })).join('\n');
  };
  const rename = (purpose: string) =>
    app.db.query('update agents set purpose = $2 where org_id = $1', [tenant.orgId, purpose]);

  it('nothing when nothing is wrong', async () => {
    faults = () => ({});
    expect(await check(operation('update_agent'))).toBe('');
  });

  it('a fault of the service at strange but valid input', async () => {
    faults = (good) => ({
      update_agent: async (input) => {
        if (input.body.purpose !== 'opens the door') throw new TypeError('never thought of that');
        return good.update_agent(input);
      },
    });
    expect(await check(operation('update_agent'))).toMatch(/answered 500/);
  });

  it('a refusal that came too late', async () => {
    faults = (good) => ({
      update_agent: async (input) => {
        await rename(`late ${input.call.correlationId}`);
        return good.update_agent(input);
      },
    });
    expect(await check(operation('update_agent'))).toMatch(/public.agents was written/);
  });

  it('a refusal that does not say what is wrong', async () => {
    faults = () => ({
      update_agent: async () => {
        throw new AppError('validation_error', 'no');
      },
    });
    expect(await check(operation('update_agent'))).toMatch(/does not say where/);
  });

  it('a body that is taken against the contract', async () => {
    faults = () => ({});
    const agent = operation('update_agent');
    const stricter = { ...agent, body: Closed('Stricter', { purpose: Type.String({ minLength: 500 }) }) };
    expect(await check(stricter)).toMatch(/answered 200/);
  });
});
