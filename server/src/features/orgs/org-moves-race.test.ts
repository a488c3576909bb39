import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { rootAdminId, rootOrgId } from '../../../test/support/test-world.ts';

/**
 * Each move is fine by itself; together they would close a cycle that no path leads to from the root. Without `lockTree`
 * both read the tree before either writes, both answer 200, and the two organizations hang below each other.
 */
describe('two opposite moves at once', () => {
  let app: TestApp;
  let second: TestApp;
  let token: string;

  beforeAll(async () => {
    app = await startTestApp();
    second = await app.secondNode();
    token = (await app.world.key(rootOrgId, rootAdminId)).token;
  });
  afterAll(async () => {
    await second.close();
    await app.close();
  });

  const move = (node: TestApp, id: string, below: string) =>
    node.request('PUT', `/orgs/${id}`, { token, body: { parent_id: below } });

  /** Organizations whose path is not the chain of their parents, or that the root does not reach. */
  const unsound = () =>
    app.db.query(
      `with recursive reached (id, path) as (
         select id, array[id] from orgs where parent_id is null
         union all
         select o.id, r.path || o.id from orgs o join reached r on o.parent_id = r.id
       )
       select o.id from orgs o left join reached r on r.id = o.id where r.path is distinct from o.path`,
    );

  it('let one win and refuse the other, 50 times, on two nodes', async () => {
    for (let round = 0; round < 50; round += 1) {
      const one = await app.world.org();
      const other = await app.world.org();
      await app.world.org({ parentId: one });
      await app.world.org({ parentId: other });
      const answers = await Promise.all([move(app, one, other), move(second, other, one)]);
      const outcomes = answers.map((answer) => [answer.status, answer.body.code]);
      expect(outcomes.toSorted()).toEqual([
        [200, undefined],
        [422, 'org_cycle'],
      ]);
    }
    expect(await unsound()).toEqual([]);
  });

  it('keep every path true while children are added and role grants bump the same subtree', async () => {
    const [one, other] = [await app.world.org(), await app.world.org()];
    const moved = await app.world.org({ parentId: one });
    for (let leaf = 0; leaf < 5; leaf += 1) await app.world.org({ parentId: moved });
    const users = await Promise.all(Array.from({ length: 20 }, () => app.world.user()));
    const add = () => second.request('POST', '/orgs', { token, body: { name: 'leaf', parent_id: moved } });
    for (const [round, user] of users.entries()) {
      const answers = await Promise.all([
        move(app, moved, round % 2 === 0 ? other : one),
        add(),
        app.world.grant(one, user, 'zones:list'),
        app.world.grant(moved, user, 'zones:list'),
      ]);
      expect([answers[0].status, answers[1].status]).toEqual([200, 201]);
    }
    expect(await unsound()).toEqual([]);
  });
});
