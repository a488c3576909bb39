// The list of operations is the contract: bound once each and nothing else, with closed lists of who needs no role.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorTable } from '@lintel/contract/errors';
import { eventTable } from '@lintel/contract/events';
import { isMutation, type OperationSpec } from '@lintel/contract/operation';
import { allOperations, apiBasePath } from '@lintel/contract/operations';
import type { TSchema } from 'typebox';
import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AppError } from '../src/kernel/app-error.ts';
import type { Handlers } from '../src/kernel/handler.ts';
import { isRoleBound } from './support/scenario.ts';
import { faultyHandlers } from './support/scenario-faults.ts';
import { everyOperation, hasRule, routeOf } from './support/scenario-world.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { rootAdminId, rootOrgId } from './support/test-world.ts';

const server = join(import.meta.dirname, '..');
const serverSource = join(server, 'src');
const migrations = join(server, 'migrations');

/** Bound under the API's path without being operations: they describe it. */
const otherRoutes = [`GET ${apiBasePath}/openapi.json`];

/** What anybody may call: nothing of it may show or change more than the caller already holds in hands. */
const publicOperations = ['get_backend_status', 'preview_invitation'];

/** What only a person at a browser may do, never a key. */
const sessionOperations = [
  'approve_policy_approval',
  'deny_policy_approval',
  'patch_me_profile',
  'redeem_invitation',
];

/** What tells a browser whether it has a session. */
const probeOperations = [
  'get_auth_kratos_identity',
  'get_auth_provisioned',
  'get_auth_session',
  'get_auth_whoami',
  'post_auth_logout',
  'post_auth_sign_out',
];

/** What an agent's credential may be used for: the doors it was given, and finding them. */
const agentOperations = [
  'execute_entity_action',
  'get_auth_kratos_identity',
  'get_auth_provisioned',
  'get_auth_session',
  'get_auth_whoami',
  'get_backend_status',
  'get_entity',
  'get_me_profile',
  'get_org',
  'list_audit_events',
  'list_entities',
  'list_orgs',
  'post_auth_logout',
  'post_auth_sign_out',
  'preview_entity_action',
];

/** POST only because they take a body: they look and change nothing. */
const lookingPosts = ['preview_entity_action', 'preview_invitation'];

/** GET although they leave an event: what they show is worth knowing who saw it. */
const auditedReads = ['get_integration_secrets'];

/** Events that no operation of the API writes: refusals, sign-in, and what is set up at the first start. */
const eventsOfOthers = [
  'access.denied',
  'api_key.rejected',
  'identity.login_failed',
  'identity.login_succeeded',
  'identity.password_changed',
  'secrets.key_rotated',
  'user.provisioned',
];

/** Operations whose rule is no question of roles: where it is tested, and by which test. */
const ruleTests: Readonly<Record<string, readonly [file: string, test: string]>> = {
  delete_admin_quota_override: ['src/features/quotas/quotas.test.ts', 'are for platform administrators only'],
  get_admin_quota_overrides: ['src/features/quotas/quotas.test.ts', 'are for platform administrators only'],
  get_auth_kratos_identity: [
    'src/features/session/session.test.ts',
    'gives the session to its cookie and its token',
  ],
  get_auth_provisioned: ['src/features/session/session.test.ts', 'tells who is provisioned'],
  get_auth_session: ['src/features/session/session.test.ts', 'gives the session to its cookie and its token'],
  get_auth_whoami: ['src/features/session/session.test.ts', 'gives the session to its cookie and its token'],
  get_backend_status: ['test/operations.test.ts', 'tell anybody which service this is'],
  get_me_profile: ['src/features/me/me.test.ts', 'describes a session, a key and an agent’s credential'],
  get_integration_provider_definition: [
    'src/features/integrations/integrations.test.ts',
    'tells anybody with a credential which providers there are',
  ],
  list_integration_provider_types: [
    'src/features/integrations/integrations.test.ts',
    'tells anybody with a credential which providers there are',
  ],
  list_org_children: ['src/features/orgs/orgs.test.ts', 'walks the tree by children'],
  list_orgs: ['src/features/orgs/orgs.test.ts', 'lists only its own organization to a key without admin'],
  patch_me_profile: ['src/features/me/me.test.ts', 'is changed by a session only'],
  post_auth_logout: ['src/features/session/session.test.ts', 'ends the session and clears every cookie'],
  post_auth_sign_out: ['src/features/session/session.test.ts', 'ends the session and clears every cookie'],
  post_admin_quota_override: ['src/features/quotas/quotas.test.ts', 'are for platform administrators only'],
  preview_invitation: [
    'src/features/org-invitations/org-invitations.test.ts',
    'knows nothing of an unknown token',
  ],
  redeem_invitation: [
    'src/features/org-invitations/invitation-redeem.test.ts',
    'needs a session with the invited address; a key is none',
  ],
  search_orgs: [
    'src/features/orgs/orgs.test.ts',
    'searches names in every language, and exact ids, within sight',
  ],
};

const idsWhere = (test: (operation: OperationSpec) => boolean): string[] =>
  allOperations
    .filter(test)
    .map(({ id }) => id)
    .sort();

/** What is wrong with the list itself. */
function contractProblems(operations: readonly OperationSpec[]): string[] {
  const twice = (values: readonly string[]) =>
    values.filter((value, index) => values.indexOf(value) !== index);
  return [
    ...twice(operations.map(({ id }) => id)).map((id) => `${id} is defined twice`),
    ...twice(operations.map(({ method, path }) => `${method} ${path.replace(/\{\w+\}/g, '{}')}`)).map(
      (route) => `${route} is defined twice`,
    ),
    ...operations.flatMap((operation) =>
      operationProblems(operation).map((problem) => `${operation.id} ${problem}`),
    ),
  ];
}

function operationProblems(operation: OperationSpec): string[] {
  const { id, method, path, params, role, org, orgParam, auth, errors, audit, body, responses } = operation;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();
  const statuses = Object.keys(responses).map(Number);
  const problem = (isWrong: boolean, text: string) => (isWrong ? [text] : []);
  return [
    ...problem(!/^[a-z]+(_[a-z]+)*$/.test(id), 'is not named in snake_case'),
    ...problem(
      inPath.join() !==
        Object.keys(params?.properties ?? {})
          .sort()
          .join(),
      'does not declare its parameters',
    ),
    ...problem(
      (org === 'path') !== (orgParam !== undefined),
      'has an orgParam without an organization in its path',
    ),
    ...problem(
      orgParam !== undefined && !inPath.includes(orgParam),
      'names an orgParam that is not in its path',
    ),
    ...problem(
      !hasRule(role) && (org === 'none' || (auth !== 'principal' && auth !== 'session')),
      'asks for a role but knows no organization',
    ),
    ...problem(hasRule(role) && role.rule.trim().length < 6, 'does not say its rule'),
    ...problem(method === 'GET' && audit !== null && !auditedReads.includes(id), 'changes something on GET'),
    ...problem(method === 'GET' && body !== undefined, 'has a body on GET'),
    ...problem(
      method !== 'GET' && audit === null && !lookingPosts.includes(id),
      'changes something without an event',
    ),
    ...problem(audit !== null && !Object.hasOwn(eventTable, audit), `writes the unknown event ${audit}`),
    ...problem(
      // Beside it at most a 204, for what may be absent.
      statuses.filter((status) => status !== 204 || statuses.length === 1).length !== 1 ||
        !statuses.every((status) => status >= 200 && status < 300),
      'has not one success',
    ),
    ...errors
      .filter((code) => !Object.hasOwn(errorTable, code))
      .map((code) => `answers the unknown code ${code}`),
    ...[body, ...Object.values(responses)]
      .flatMap((schema) => openRecords(schema))
      .map((at) => `is open at ${at}`),
  ];
}

/** Records with named members that let others pass: unknown input would be taken, undeclared output sent. */
function openRecords(schema: TSchema | null | undefined, at = ''): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const here =
    'properties' in schema && Reflect.get(schema, 'additionalProperties') !== false ? [at || '/'] : [];
  const inside = Object.entries(schema).flatMap(([key, value]) =>
    openRecords(value as TSchema, `${at}/${key}`),
  );
  return [...here, ...inside];
}

describe('the list of operations', () => {
  it('is consistent in itself', () => {
    expect(contractProblems(allOperations)).toEqual([]);
  });

  it('is open to nobody in particular, to sessions only and to agents in closed lists', () => {
    expect(idsWhere(({ auth }) => auth === 'public')).toEqual(publicOperations);
    expect(idsWhere(({ auth }) => auth === 'session')).toEqual(sessionOperations);
    expect(idsWhere(({ auth }) => auth === 'session_probe')).toEqual(probeOperations);
    expect(idsWhere(({ agents }) => agents)).toEqual(agentOperations);
    expect(idsWhere((operation) => operation.method !== 'GET' && !isMutation(operation))).toEqual(
      lookingPosts,
    );
  });

  it('together with the closed list of other writers uses every event type, and each is written somewhere', () => {
    const written = new Set(allOperations.flatMap(({ audit }) => (audit === null ? [] : [audit as string])));
    const others = Object.keys(eventTable).filter((type) => !written.has(type));
    expect(others).toEqual(eventsOfOthers);
    expect(Object.keys(eventTable).filter((type) => !isWritten(type))).toEqual([]);
  });

  it('and the edge use every error code', () => {
    expect(Object.keys(errorTable).filter((code) => !mentioned(`'${code}'`))).toEqual([]);
  });

  it('has a test for every rule that a service enforces by itself', () => {
    const untested = everyOperation.filter((operation) => !isRoleBound(operation));
    expect(untested.map(({ id }) => id).sort()).toEqual(Object.keys(ruleTests).sort());
    const missing = Object.entries(ruleTests).filter(
      ([, [file, test]]) => !readFileSync(join(server, file), 'utf8').includes(test),
    );
    expect(missing).toEqual([]);
  });
});

const shippedTexts = [
  ...readdirSync(serverSource, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => join(serverSource, name)),
  ...readdirSync(migrations).map((name) => join(migrations, name)),
].map((path) => readFileSync(path, 'utf8'));
/** By its name, or put together by the one writer of whole buildings. */
const isWritten = (type: string): boolean =>
  mentioned(`'${type}'`) ||
  (type.endsWith('.created') && shippedTexts.some((source) => /`\$\{type\}\.created`/.test(source)));
const mentioned = (text: string): boolean => shippedTexts.some((source) => source.includes(text));

/** Every route of an operation, with the HEAD that answers beside each GET. */
function expectedRoutes(operations: readonly OperationSpec[]): string[] {
  const own = operations.map((operation) => `${operation.method} ${routeOf(operation)}`);
  return [...own, ...otherRoutes].flatMap((route) =>
    route.startsWith('GET ') ? [route, route.replace('GET', 'HEAD')] : [route],
  );
}

function routeProblems(routes: readonly string[], operations: readonly OperationSpec[]): string[] {
  const expected = expectedRoutes(operations);
  return [
    ...expected.filter((route) => !routes.includes(route)).map((route) => `${route} is not bound`),
    ...routes
      .filter((route) => !expected.includes(route))
      .map((route) => `${route} is bound but not declared`),
    ...routes
      .filter((route, index) => routes.indexOf(route) !== index)
      .map((route) => `${route} is bound twice`),
  ];
}

describe('the routes', () => {
  const routes: string[] = [];
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp({
      onHttp: (http) => {
        http.addHook('onRoute', ({ method, url }) => {
          if (url.startsWith(apiBasePath)) routes.push(...[method].flat().map((each) => `${each} ${url}`));
        });
      },
    });
  });
  afterAll(() => app.close());

  it('are the operations, each once, and what describes them', () => {
    expect(routeProblems(routes, allOperations)).toEqual([]);
  });

  it('are known to be wrong when one is missing, extra or double', () => {
    const [first = ''] = routes;
    expect(routeProblems([...routes, first], allOperations)).toContain(`${first} is bound twice`);
    expect(routeProblems(routes.slice(1), allOperations)).toContain(`${first} is not bound`);
    const extra = `POST ${apiBasePath}/backdoor`;
    expect(routeProblems([...routes, extra], allOperations)).toContain(`${extra} is bound but not declared`);
  });

  it('tell anybody which service this is, and take no credential into account', async () => {
    const anonymous = await app.request('GET', '/status');
    const nonsense = await app.request('GET', '/status', { token: 'nonsense' });
    expect([anonymous.status, nonsense.status]).toEqual([200, 200]);
    expect(Object.keys(anonymous.body).sort()).toEqual(['environment', 'version']);
  });

  it.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const)(
    'answer 404 as JSON for %s on an unknown one',
    async (method) => {
      const answer = await app.request(method, '/no-such-thing');
      expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
    },
  );
});

describe('an operation', () => {
  const good: OperationSpec = {
    id: 'open_door',
    method: 'POST',
    path: '/doors/{id}',
    tag: 'Doors',
    summary: 'Open a door',
    auth: 'principal',
    agents: false,
    org: 'principal',
    role: 'entities:set_state',
    params: Type.Object({ id: Type.String() }),
    body: Type.Object({ why: Type.String() }, { additionalProperties: false }),
    responses: { 200: Type.Object({}, { additionalProperties: false }) },
    errors: [],
    audit: 'entity.action',
  };
  const problemsWith = (change: Partial<OperationSpec>) => contractProblems([{ ...good, ...change }]);

  it('as it should be has no problem', () => {
    expect(contractProblems([good])).toEqual([]);
  });

  it.each<[string, Partial<OperationSpec>, string]>([
    ['a name of another style', { id: 'openDoor' }, 'openDoor is not named in snake_case'],
    ['an undeclared parameter', { path: '/doors/{id}/{side}' }, 'open_door does not declare its parameters'],
    ['a parameter that is not in the path', { path: '/doors' }, 'open_door does not declare its parameters'],
    ['no event', { audit: null }, 'open_door changes something without an event'],
    ['a GET that changes', { method: 'GET', body: Type.Unknown() }, 'open_door changes something on GET'],
    [
      'a role without an organization',
      { org: 'none' },
      'open_door asks for a role but knows no organization',
    ],
    ['a role without a principal', { auth: 'public' }, 'open_door asks for a role but knows no organization'],
    [
      'an organization nowhere in its path',
      { org: 'path', orgParam: 'org_id' },
      'open_door names an orgParam that is not in its path',
    ],
    ['a rule without words', { role: { rule: '' } }, 'open_door does not say its rule'],
    [
      'an unknown event',
      { audit: 'door.opened' as 'entity.action' },
      'open_door writes the unknown event door.opened',
    ],
    ['an unknown code', { errors: ['nope' as 'not_found'] }, 'open_door answers the unknown code nope'],
    ['an open body', { body: Type.Object({ why: Type.String() }) }, 'open_door is open at /'],
    [
      'an open record inside',
      { body: Type.Array(Type.Object({ a: Type.String() })) },
      'open_door is open at /items',
    ],
    ['no success', { responses: {} }, 'open_door has not one success'],
  ])('with %s is noticed', (_, change, problem) => {
    expect(problemsWith(change)).toContain(problem);
  });

  it('defined twice is noticed, by id and by route', () => {
    expect(contractProblems([good, good])).toEqual([
      'open_door is defined twice',
      'POST /doors/{} is defined twice',
    ]);
  });
});

describe('the response check notices', () => {
  let app: TestApp;
  let faults: (good: Handlers) => Partial<Handlers> = () => ({});
  beforeAll(async () => {
    app = await startTestApp({ wrapHandlers: (good) => faultyHandlers(good, () => faults(good)) });
  });
  afterAll(() => app.close());

  const listKeys = async () => {
    const { token } = await app.world.key(rootOrgId, rootAdminId);
    return app.request('GET', '/api-keys', { token });
  };
  const answerWith = (change: (page: { items: unknown[]; total: number }) => object) => {
    faults = (good) => ({
      list_api_keys: async (input) => change(await good.list_api_keys(input)) as never,
    });
    return listKeys();
  };
  const refuseWith = (error: AppError) => {
    faults = () => ({
      list_api_keys: async () => {
        throw error;
      },
    });
    return listKeys();
  };

  it('nothing when nothing is wrong', async () => {
    faults = () => ({});
    expect((await listKeys()).status).toBe(200);
  });

  it('a member that is not declared, although it never leaves the service', async () => {
    await expect(answerWith((page) => ({ ...page, secret_hash: 'x' }))).rejects.toThrow(
      /must NOT have additional/,
    );
  });

  it('a member of the wrong type, and one that is missing', async () => {
    await expect(answerWith((page) => ({ ...page, total: -1 }))).rejects.toThrow(/total must be >= 0/);
    await expect(answerWith(({ total }) => ({ total, items: [{}] }))).rejects.toThrow(/required property/);
  });

  it('a body where none is declared', async () => {
    faults = () => ({ revoke_api_key: async () => ({ ok: true }) as never });
    const { token, id } = await app.world.key(rootOrgId, rootAdminId);
    await expect(app.request('DELETE', `/api-keys/${id}`, { token })).rejects.toThrow(/204 has a body/);
  });

  it('an error code that the operation does not declare', async () => {
    await expect(refuseWith(new AppError('org_cycle', 'x'))).rejects.toThrow(
      /undeclared error code org_cycle/,
    );
  });

  it('an error code with another status than its own', async () => {
    const refusal = new AppError('unavailable', 'x');
    Object.defineProperty(refusal, 'status', { value: 500 });
    await expect(refuseWith(refusal)).rejects.toThrow(/code unavailable sent with status 500/);
  });
});
