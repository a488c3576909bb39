// Test 33 of design/reliability.md: what a request may not set is not set, whatever it is called.
import type { OperationId } from '@lintel/contract/operations';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Handlers } from '../src/kernel/handler.ts';
import { isFull } from './faults/scale.ts';
import { createSharedRow } from './faults/shared-row.ts';
import { administrator } from './support/scenario-actors.ts';
import { faultyHandlers } from './support/scenario-faults.ts';
import {
  type BodyOperation,
  massAssignmentViolations,
  privilegedNames,
  takesBody,
} from './support/scenario-mass-assignment.ts';
import { sessionActor } from './support/scenario-signin.ts';
import { createMember, createTenant, everyOperation, type Tenant } from './support/scenario-world.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

const row = createSharedRow(33, 'mass assignment');
let counts = '';
afterAll(() => row.write(counts));

/** In a small run every name meets some of the operations, and every operation some of the names. */
const oneIn = isFull ? 1 : 8;

describe('members that a body does not declare', { timeout: 600_000 }, () => {
  let app: TestApp;
  let tenant: Tenant;
  beforeAll(async () => {
    app = await startTestApp();
    tenant = await createTenant(app, 'assigning');
  });
  afterAll(() => app.close());

  const actorFor = async ({ auth }: BodyOperation) =>
    auth === 'session'
      ? sessionActor(app, await createMember(app, tenant, 'admin'), 'a person at a browser')
      : administrator(app, tenant);

  it('are refused by name, and leave no trace', async () => {
    const operations = everyOperation.filter(takesBody);
    const names = await privilegedNames(app.db);
    const found: string[] = [];
    let tried = 0;
    for (const [index, operation] of operations.entries()) {
      const stage = { app, tenant, actor: await actorFor(operation), disposable: false };
      const own = names.filter((_, place) => place % oneIn === index % oneIn);
      const result = await massAssignmentViolations({ stage, operation, names: own });
      found.push(...result.found);
      tried += result.tried;
    }
    counts = `${operations.length} bodies, ${names.length} names: ${tried} members added`;
    expect(names).toEqual(expect.arrayContaining(['org_id', 'id', 'created_at', 'role', 'deleted_at']));
    expect(names).toEqual(expect.arrayContaining(['is_admin', 'revoked_at', 'secret_hash', 'path']));
    expect(row.found(found)).toEqual([]);
  });
});

describe('the check of undeclared members notices', () => {
  let app: TestApp;
  let tenant: Tenant;
  /** Replaced by each test: what is wrong with the app. */
  let faults: (good: Handlers) => Partial<Handlers> = () => ({});
  /** Taken off a body before it is looked at. */
  let overlooked: readonly string[] = [];
  let taken: Record<string, unknown> = {};

  beforeAll(async () => {
    app = await startTestApp({
      wrapHandlers: (good) => faultyHandlers(good, () => faults(good)),
      onHttp: (http) => {
        http.addHook('preHandler', async (request) => {
          const members = Object.entries((request.body as object | undefined) ?? {});
          if (overlooked.length === 0) return;
          request.body = Object.fromEntries(members.filter(([name]) => !overlooked.includes(name)));
          taken = Object.fromEntries(members.filter(([name]) => overlooked.includes(name)));
        });
      },
    });
    tenant = await createTenant(app, 'faulty');
  });
  afterAll(() => app.close());

  const check = async (id: OperationId, ...names: string[]): Promise<string[]> => {
    const operation = everyOperation.filter(takesBody).find((each) => each.id === id);
    if (operation === undefined) throw new Error(`${id} takes no body`);
    const stage = { app, tenant, actor: tenant.admin, disposable: false };
    return (await massAssignmentViolations({ stage, operation, names })).found;
  };

  it('nothing when nothing is wrong', async () => {
    expect(await check('update_agent', 'revoked_at', 'org_id')).toEqual([]);
    expect(await check('execute_entity_action', 'revoked_at', 'name')).toEqual([]);
  });

  it('a member that is dropped in silence', async () => {
    overlooked = ['org_id'];
    const found = row.mutant('drops members', await check('update_agent', 'org_id', 'deleted_at'));
    overlooked = [];
    expect(found).toEqual([expect.stringMatching(/^update_agent, org_id: answered 200/)]);
  });

  it('a member that is taken over into the record', async () => {
    overlooked = ['created_at'];
    faults = (good) => ({
      update_agent: async (input) => {
        await app.db.query('update agents set created_at = $2 where id = $1', [
          input.params.id,
          taken.created_at,
        ]);
        return good.update_agent(input);
      },
    });
    const found = row.mutant('takes them over', await check('update_agent', 'created_at'));
    overlooked = [];
    expect(found.join('\n')).toMatch(/created_at: answered 200(.|\n)*persisted in agents$/);
    await app.db.query('update agents set created_at = now()');
  });

  it('a member of an open body that is taken over', async () => {
    faults = (good) => ({
      execute_entity_action: async (input) => {
        const answer = await good.execute_entity_action(input);
        const { name } = input.body as { name?: string };
        await app.db.query('update entities set name = $2 where id = $1', [input.params.id, name]);
        return answer;
      },
    });
    const found = row.mutant('open body taken over', await check('execute_entity_action', 'name'));
    expect(found).toEqual(['execute_entity_action: persisted in entities']);
  });
});
