// Test 31 of design/reliability.md: every operation × own, foreign, absent and malformed ids × kinds of callers: the neighbour is out of reach and looks
// like nothing at all. Grows by itself: operations come from the contract, requests from the scenarios.
import type { OperationId } from '@lintel/contract/operations';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AppError } from '../src/kernel/app-error.ts';
import type { OrgScope } from '../src/kernel/call.ts';
import type { Handlers } from '../src/kernel/handler.ts';
import { createSharedRow } from './faults/shared-row.ts';
import { createRequestCount } from './support/request-count.ts';
import { expectedStatus, perform, scenarios } from './support/scenario.ts';
import { administrator, deadActors, livingActors } from './support/scenario-actors.ts';
import { type Attack, attackViolations } from './support/scenario-attack.ts';
import { faultyHandlers } from './support/scenario-faults.ts';
import { createTenant, everyOperation, keyActor, type Tenant } from './support/scenario-world.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { rootAdminId, rootOrgId } from './support/test-world.ts';

const row = createSharedRow(31, 'IDOR matrix');
const requests = createRequestCount();
const callers = new Set<string>();
afterAll(() =>
  row.write(`${everyOperation.length} operations × ${callers.size} callers: ${requests.value()} requests`),
);

/** Two neighbours that share one person, who is the likeliest leak between them. */
async function neighbours(app: TestApp): Promise<{ home: Tenant; victim: Tenant }> {
  const home = await createTenant(app, 'home');
  const victim = await createTenant(app, 'victim');
  const shared = await app.world.user({ name: 'shared' });
  await app.world.grant(home.orgId, shared, 'entities:list', 'users:list');
  await app.world.grant(victim.orgId, shared, 'admin');
  return { home, victim };
}

describe('cross-tenant matrix', { timeout: 300_000 }, () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp({ onHttp: requests.onHttp });
  });
  afterAll(() => app.close());

  const attacked = async (attack: Omit<Attack, 'app' | 'operations'>): Promise<readonly string[]> => {
    for (const { name } of attack.attackers) callers.add(name);
    return row.found(await attackViolations({ app, operations: everyOperation, ...attack }));
  };

  it('good credentials of one organization reach nothing of its neighbour', async () => {
    const { home, victim } = await neighbours(app);
    const attackers = await livingActors(app, home);
    expect(await attacked({ attackers, home, victim })).toEqual([]);
  });

  it('dead credentials and nobody reach nothing at all', async () => {
    const { home, victim } = await neighbours(app);
    const attackers = await deadActors(app, home);
    expect(await attacked({ attackers, home, victim })).toEqual([]);
  });

  it('administrators below reach nothing of the organization above them but its id', async () => {
    const victim = await createTenant(app, 'above');
    const home = await createTenant(app, 'below', victim.orgId);
    const attackers = [{ ...(await administrator(app, home)), name: 'an administrator below' }];
    const known = new Set([victim.orgId]);
    expect(await attacked({ attackers, home, victim, known })).toEqual([]);
  });

  it('the neighbour’s administrators reach nothing back', async () => {
    const { home, victim } = await neighbours(app);
    const attackers = [{ ...(await administrator(app, victim)), name: 'the neighbour’s administrator' }];
    expect(await attacked({ attackers, home: victim, victim: home })).toEqual([]);
  });

  it('a platform administrator reaches both, by naming them', async () => {
    const { home, victim } = await neighbours(app);
    const root = await keyActor(app, rootOrgId, rootAdminId, { name: 'a platform administrator’s key' });
    const reads = everyOperation.filter(({ audit, auth }) => audit === null && auth === 'principal');
    for (const tenant of [home, victim]) {
      for (const { id } of reads) {
        const prepared = await scenarios[id].prepare({ app, tenant, actor: root, disposable: false });
        const answer = await perform(app, id, root, prepared, { org: tenant.orgId });
        expect([id, answer.status], answer.text).toEqual([id, expectedStatus(id)]);
      }
    }
  });
});

describe('the cross-tenant matrix notices', () => {
  let app: TestApp;
  let home: Tenant;
  let victim: Tenant;
  /** Replaced by each test: what is wrong with the app. */
  let faults: (good: Handlers) => Partial<Handlers> = () => ({});
  let isOrgHeaderIgnored = false;

  beforeAll(async () => {
    app = await startTestApp({
      wrapHandlers: (good) => faultyHandlers(good, () => faults(good)),
      onHttp: maybeIgnoreOrgHeader,
    });
    ({ home, victim } = await neighbours(app));
  });
  afterAll(() => app.close());

  const maybeIgnoreOrgHeader = (http: FastifyInstance) => {
    http.addHook('onRequest', async (request) => {
      if (isOrgHeaderIgnored) delete request.headers['x-org'];
    });
  };

  const attack = async (id: OperationId): Promise<string[]> => {
    const operations = everyOperation.filter((operation) => operation.id === id);
    const attackers = [await administrator(app, home)];
    const found = await attackViolations({ app, operations, attackers, home, victim });
    return found.map((problem) => problem.replace(/: [{\d].*/, ''));
  };
  const attackMutant = async (name: string, id: OperationId): Promise<string> =>
    row.mutant(name, await attack(id)).join('\n');
  const inVictim = <T extends { org: OrgScope }>(input: T): T => ({
    ...input,
    org: { ...input.org, id: victim.orgId },
  });

  it('a list that is not limited to the organization', async () => {
    faults = (good) => ({ list_agents: (input) => good.list_agents(inVictim(input)) });
    expect(await attackMutant('unlimited list', 'list_agents')).toMatch(/own request shows/);
  });

  it('a record found by its id alone', async () => {
    faults = (good) => ({
      get_agent: (input) => good.get_agent(input).catch(() => good.get_agent(inVictim(input))),
    });
    expect(await attackMutant('record by id alone', 'get_agent')).toMatch(/foreign id answered 200/);
  });

  it('a change to a record found by its id alone', async () => {
    faults = (good) => ({
      revoke_agent: (input) => good.revoke_agent(input).catch(() => good.revoke_agent(inVictim(input))),
    });
    const found = await attackMutant('change by id alone', 'revoke_agent');
    expect(found).toMatch(/foreign id answered 204/);
    expect(found).toMatch(/public.agents of the victim changed/);
  });

  it('a refusal that tells that the record exists', async () => {
    faults = (good) => ({
      get_agent: async (input) => {
        const exists = await good.get_agent(inVictim(input)).catch(() => null);
        if (exists !== null) throw new AppError('forbidden', 'not yours');
        return good.get_agent(input);
      },
    });
    expect(await attackMutant('refusal that tells', 'get_agent')).toMatch(
      /foreign id told apart from absent/,
    );
  });

  it('a foreign id in a body that is taken', async () => {
    faults = (good) => ({
      create_api_key: (input) =>
        good.create_api_key({ ...input, body: { ...input.body, scoped_entity_ids: null } }),
    });
    expect(await attackMutant('foreign id in a body', 'create_api_key')).toMatch(
      /foreign entity answered 201/,
    );
  });

  it('an X-Org that is ignored instead of refused', async () => {
    faults = () => ({});
    isOrgHeaderIgnored = true;
    expect(await attackMutant('X-Org ignored', 'list_agents')).toMatch(/foreign X-Org answered 200/);
    isOrgHeaderIgnored = false;
    expect(await attack('list_agents')).toEqual([]);
  });
});
