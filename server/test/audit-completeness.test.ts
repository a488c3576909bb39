// Every change writes exactly one event in its transaction, every refusal one, reads none; always with the id the
// caller was answered with. Grows by itself: the operations come from the contract, the requests from the scenarios.
import { isMutation } from '@lintel/contract/operation';
import type { OperationId } from '@lintel/contract/operations';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AppError } from '../src/kernel/app-error.ts';
import type { Handlers } from '../src/kernel/handler.ts';
import { isUlid, ulid } from '../src/kernel/ulid.ts';
import { type Stage, scenarios } from './support/scenario.ts';
import { denialViolations, successViolations, watch } from './support/scenario-audit.ts';
import { faultyHandlers } from './support/scenario-faults.ts';
import { sessionActor } from './support/scenario-signin.ts';
import {
  createMember,
  createTenant,
  everyOperation,
  keyActor,
  type Operation,
  platformActor,
  type Tenant,
} from './support/scenario-world.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { rootAdminId } from './support/test-world.ts';

/** A key, or a person at a browser for what only they can do. */
async function stageFor(app: TestApp, { id, auth }: Operation): Promise<Stage> {
  const tenant = await createTenant(app, 'audited');
  if (scenarios[id].byPlatform) return { app, tenant, actor: await platformActor(app), disposable: true };
  const isForBrowsers = auth === 'session' || auth === 'session_probe';
  const actor = isForBrowsers
    ? await sessionActor(app, await createMember(app, tenant, 'admin'), 'an administrator at a browser')
    : tenant.admin;
  return { app, tenant, actor, disposable: true };
}

const check = (app: TestApp, operations: readonly Operation[]) =>
  successViolations({ app, operations, stageFor: (operation) => stageFor(app, operation) });

describe('audit completeness', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());

  it('a valid request of every changing operation writes its one event with the answer’s correlation id', async () => {
    expect(await check(app, everyOperation.filter(isMutation))).toEqual([]);
  });

  it('a valid request of every other operation writes no event and changes nothing', async () => {
    expect(
      await check(
        app,
        everyOperation.filter((operation) => !isMutation(operation)),
      ),
    ).toEqual([]);
  });

  it('every operation refused for want of a role writes its one denied event and changes nothing', async () => {
    expect(await denialViolations(app, everyOperation)).toEqual([]);
  });

  it.each([
    ['revoked', 'revoked_at = now()'],
    ['expired', "expires_at = now() - interval '1 s'"],
  ])('a %s key that is presented leaves one event and changes nothing', async (reason, change) => {
    const tenant = await createTenant(app, 'rejected');
    const key = await keyActor(app, tenant.orgId, rootAdminId);
    await app.db.query(`update api_keys set ${change} where id = $1`, [key.keyId]);
    const { answer, events, changed } = await watch(app, () =>
      app.request('GET', '/api-keys', { headers: { ...key.headers } }),
    );
    expect(answer.status).toBe(401);
    expect(events).toMatchObject([
      {
        event_type: 'api_key.rejected',
        outcome: 'denied',
        correlation_id: answer.headers['x-request-id'],
        details: { reason },
      },
    ]);
    expect(changed).toEqual([]);
  });
});

describe('correlation ids', () => {
  let app: TestApp;
  let tenant: Tenant;
  beforeAll(async () => {
    app = await startTestApp();
    tenant = await createTenant(app, 'correlated');
  });
  afterAll(() => app.close());

  const createKey = (correlationId: string, body: object = { name: 'k', expires_in: '1d' }) =>
    watch(app, () =>
      app.request('POST', '/api-keys', {
        headers: { ...tenant.admin.headers, 'x-correlation-id': correlationId },
        body,
      }),
    );

  it.each(['mine', 'a b', '~', 'x'.repeat(128)])(
    'given by the caller come back everywhere: %s',
    async (id) => {
      const { answer, events } = await createKey(id);
      expect(answer.status).toBe(201);
      expect(answer.headers['x-request-id']).toBe(id);
      expect(events.map((event) => event.correlation_id)).toEqual([id]);
      const refused = await createKey(id, {});
      expect(refused.answer.headers['x-request-id']).toBe(id);
      expect(refused.answer.body.correlationId).toBe(id);
    },
  );

  it.each(['', ' ', 'x'.repeat(129), 'tab\there', 'caf\u00e9', 'bell\u0007'])(
    'that are not 1 to 128 printable ASCII characters are replaced: %j',
    async (id) => {
      const { answer, events } = await createKey(id);
      const given = answer.headers['x-request-id'];
      expect(answer.status).toBe(201);
      expect(isUlid(String(given))).toBe(true);
      expect(events.map((event) => event.correlation_id)).toEqual([given]);
    },
  );
});

describe('the audit check notices', () => {
  let app: TestApp;
  let faults: (good: Handlers) => Partial<Handlers> = () => ({});
  beforeAll(async () => {
    app = await startTestApp({ wrapHandlers: (good) => faultyHandlers(good, () => faults(good)) });
  });
  afterAll(() => app.close());

  const checkOnly = async (id: OperationId) => {
    const found = await check(
      app,
      everyOperation.filter((operation) => operation.id === id),
    );
    return found.join('\n');
  };
  const insertEvent = (type: string, orgId: string, correlationId: string) =>
    app.db.query(
      `insert into audit_events (org_id, id, event_type, outcome, source, actor_kind, correlation_id)
       values ($1, $2, $3, 'succeeded', 'api', 'system', $4)`,
      [orgId, ulid(), type, correlationId],
    );

  it('nothing when nothing is wrong', async () => {
    faults = () => ({});
    expect(await checkOnly('create_agent')).toBe('');
  });

  it('a change without an event', async () => {
    faults = () => ({
      revoke_agent: async ({ params }) => {
        await app.db.query('update agents set revoked_at = now() where id = $1', [params.id]);
        return undefined;
      },
    });
    expect(await checkOnly('revoke_agent')).toMatch(/0 events instead of one/);
  });

  it('a second event', async () => {
    faults = (good) => ({
      revoke_agent: async (input) => {
        await insertEvent('agent.updated', input.org.id, input.call.correlationId);
        return good.revoke_agent(input);
      },
    });
    expect(await checkOnly('revoke_agent')).toMatch(/2 events instead of one/);
  });

  it('an event of another type, and one that can not be found by the answer', async () => {
    faults = () => ({
      revoke_agent: async ({ org }) => {
        await insertEvent('agent.updated', org.id, 'some other id');
        return undefined;
      },
    });
    const found = await checkOnly('revoke_agent');
    expect(found).toMatch(/event agent.updated instead of agent.revoked/);
    expect(found).toMatch(/correlation id some other id instead of/);
    expect(found).toMatch(/changed nothing/);
  });

  it('a read that writes', async () => {
    faults = (good) => ({
      list_agents: async (input) => {
        await insertEvent('agent.updated', input.org.id, input.call.correlationId);
        await app.db.query(`update agents set purpose = 'read' where org_id = $1`, [input.org.id]);
        return good.list_agents(input);
      },
    });
    const found = await checkOnly('list_agents');
    expect(found).toMatch(/wrote agent.updated/);
    expect(found).toMatch(/changed public.agents/);
  });

  it('a refusal after the change was made, and one that is told twice', async () => {
    const [operation] = everyOperation.filter(({ id }) => id === 'add_roles');
    if (operation === undefined) throw new Error('add_roles is not bound');
    faults = () => ({
      add_roles: async ({ org, params, call }) => {
        await app.world.grant(org.id, params.id, 'copilot:use');
        await insertEvent('user.roles_added', org.id, call.correlationId);
        throw new AppError('forbidden', 'too late');
      },
    });
    const found = (await denialViolations(app, [operation])).join('\n');
    expect(found).toMatch(/2 events instead of one/);
    expect(found).toMatch(/changed public.role_grants/);
  });
});
