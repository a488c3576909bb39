// Test 32 of design/reliability.md: every operation × every role, let in exactly where the contract says so. Grows by
// itself with the contract.
import type { PlainRole } from '@lintel/contract/roles';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AppError } from '../src/kernel/app-error.ts';
import { createSharedRow } from './faults/shared-row.ts';
import { createRequestCount } from './support/request-count.ts';
import { isRoleBound } from './support/scenario.ts';
import { agentViolations, holders, rolesInMatrix, roleViolations } from './support/scenario-roles.ts';
import { everyOperation, type Operation } from './support/scenario-world.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

describe('role matrix', { timeout: 300_000 }, () => {
  const row = createSharedRow(32, 'role matrix');
  const requests = createRequestCount();
  let tried = 0;
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp({ onHttp: requests.onHttp });
  });
  afterAll(async () => {
    const operations = everyOperation.filter(isRoleBound).length;
    const kinds = `${rolesInMatrix} roles × ${Object.keys(holders).length} kinds of holders and agents`;
    row.write(`${operations} operations × ${kinds}: ${tried} requests`);
    await app.close();
  });

  it.each(Object.entries(holders))('holds for a %s', async (_, holder) => {
    const found = await roleViolations({ app, operations: everyOperation, holder });
    tried = requests.value();
    expect(row.found(found)).toEqual([]);
  });

  it('keeps agents to the operations that are open to them', async () => {
    const found = await agentViolations(app, everyOperation);
    tried = requests.value();
    expect(row.found(found)).toEqual([]);
    const opened = only('list_agents').map((operation) => ({ ...operation, agents: true }));
    expect(row.mutant('another rule for agents', await agentViolations(app, opened))).toEqual([
      'list_agents by an agent: 403 forbidden, should be 200',
    ]);
  });

  const only = (id: string, role?: PlainRole): Operation[] =>
    everyOperation
      .filter((operation) => operation.id === id)
      .map((operation) => (role === undefined ? operation : { ...operation, role }));

  it('notices an operation that asks for another role than the contract says', async () => {
    const operations = only('list_agents', 'audit:read');
    const found = await roleViolations({ app, operations, holder: holders['scoped key'] });
    expect(row.mutant('another role', found)).toEqual([
      'list_agents with agents:manage: 200 , should be 403',
      'list_agents with audit:read: 403 forbidden, should be let in',
    ]);
  });

  it('notices an operation that asks for no role at all, and one that refuses the right one', async () => {
    const open = only('list_api_keys', 'admin');
    const found = await roleViolations({ app, operations: open, holder: holders.user });
    expect(row.mutant('no role', found)).toEqual(['list_api_keys with api_keys:create: 200 , should be 403']);
    const strict = await startTestApp({
      wrapHandlers: (handlers) => ({
        ...handlers,
        list_api_keys: async () => {
          throw new AppError('forbidden', 'nobody');
        },
      }),
    });
    const operations = only('list_api_keys');
    const refused = await roleViolations({ app: strict, operations, holder: holders['scoped key'] });
    await strict.close();
    expect(row.mutant('refuses all', refused)).toEqual([
      'list_api_keys with admin: 403 forbidden, should be let in',
      'list_api_keys with api_keys:create: 403 forbidden, should be let in',
    ]);
  });
});
