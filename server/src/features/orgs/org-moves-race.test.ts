import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { rootAdminId, rootOrgId } from '../../../test/support/test-world.ts';

/** Until so many sessions of the service stand in a lock: only then has the race the order a test wants. */
async function lockWaiters(app: TestApp, wanted: number): Promise<void> {
  for (;;) {
    const waiting = await app.db.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    if (waiting.length >= wanted) return;
    await new Promise((resume) => setTimeout(resume, 5));
  }
}

/** Runs `work` while another session holds what the statement locks or changes; `release` commits it. */
async function whileHeld<T>(
  app: TestApp,
  [text, values]: readonly [string, unknown[]],
  work: (release: () => Promise<unknown>) => Promise<T>,
): Promise<T> {
  const holder = new pg.Client({ connectionString: app.db.url });
  await holder.connect();
  try {
    await holder.query('begin');
    await holder.query(text, values);
    return await work(() => holder.query('commit'));
  } finally {
    await holder.end();
  }
}

/**
 * Each move is fine by itself; together they would close a cycle that no path leads to from the root. Without `lockTree`
 * both read the tree before either writes, both answer 200, and the two organizations hang below each other.
 */
describe('moves at once', () => {
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

  it('in opposite directions let one win and refuse the other, 50 times, on two nodes', async () => {
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

  it('do not deadlock with a grant above them, whatever order the rows lie in', async () => {
    const above = await app.world.org();
    const to = await app.world.org();
    const moved = await app.world.org({ parentId: above });
    const leaves = [await app.world.org({ parentId: moved }), await app.world.org({ parentId: moved })];
    const user = await app.world.user();
    // Behind its leaves on the page, so that an update of the subtree comes to it last.
    await app.db.query('update orgs set description = $2 where id = $1', [moved, 'written last']);
    const holdLeaf = 'select from org_epochs where org_id = $1 for update';
    const [answer] = await whileHeld(app, [holdLeaf, [leaves[1]]], async (release) => {
      const moving = move(app, moved, to);
      await lockWaiters(app, 1);
      const granting = app.world.grant(above, user, 'zones:list');
      await lockWaiters(app, 2);
      await release();
      return Promise.all([moving, granting]);
    });
    expect(answer.status, answer.text).toBe(200);
    expect(await unsound()).toEqual([]);
  });

  it('take an organization out of the reach of a deletion that was let in before', async () => {
    const [from, to] = [await app.world.org(), await app.world.org()];
    const moved = await app.world.org({ parentId: from });
    const user = await app.world.user();
    await app.world.grant(from, user, 'admin');
    const former = await app.world.key(from, user);
    const moveAway = 'update orgs set parent_id = $2, path = array[$3, $2, id] where id = $1';
    const answer = await whileHeld(app, [moveAway, [moved, to, rootOrgId]], async (release) => {
      const deleting = app.request('DELETE', `/orgs/${moved}`, { token: former.token });
      await lockWaiters(app, 1);
      await release();
      return deleting;
    });
    expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
  });
});
