import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import type { BuildingIds } from '../../../test/support/test-world.ts';

interface Scene {
  readonly orgId: string;
  readonly childId: string;
  readonly userId: string;
  readonly agentId: string;
  readonly keyId: string;
  readonly token: string;
  readonly building: BuildingIds;
}

/** Each takes the right away; the door must stay shut for a request that begins after it, on every node. */
const withdrawals: [name: string, text: string, values: (scene: Scene) => string[], code: string][] = [
  [
    'the key is revoked',
    'update api_keys set revoked_at = now() where id = $1',
    (s) => [s.keyId],
    'unauthorized',
  ],
  ['the key is purged', 'delete from api_keys where id = $1', (s) => [s.keyId], 'unauthorized'],
  [
    'the creator is deleted',
    'update users set deleted_at = now() where id = $1',
    (s) => [s.userId],
    'unauthorized',
  ],
  [
    'the creator loses the role',
    'delete from role_grants where user_id = $1',
    (s) => [s.userId],
    'forbidden',
  ],
  [
    'the organization is deleted',
    'update orgs set deleted_at = now() where id = $1',
    (s) => [s.orgId],
    'unauthorized',
  ],
  [
    'the entity is deleted',
    'update entities set deleted_at = now() where id = $1',
    (s) => [s.building.entityId],
    'not_found',
  ],
];

describe('a right withdrawn', () => {
  let first: TestApp;
  let second: TestApp;

  beforeAll(async () => {
    first = await startTestApp();
    second = await first.secondNode();
  });
  afterAll(async () => {
    await second.close();
    await first.close();
  });

  async function scene(options: { asAgent?: boolean } = {}): Promise<Scene> {
    const { world } = first;
    const orgId = await world.org();
    const childId = await world.org({ parentId: orgId });
    const userId = await world.user();
    await world.grant(orgId, userId, 'admin');
    const building = await world.building(orgId);
    const agentId = await world.agent(orgId, userId, { allowedEntityIds: [building.entityId] });
    const key = await world.key(orgId, userId, options.asAgent ? { agentId } : {});
    return { orgId, childId, userId, agentId, building, keyId: key.id, token: key.token };
  }
  let counter = 0;
  const open = (node: TestApp, { token, building }: Scene, org?: string) =>
    node.request('POST', `/entities/${building.entityId}/actions/open`, {
      token,
      body: {},
      headers: { 'idempotency-key': `r${counter++}`, ...(org ? { 'x-org': org } : {}) },
    });

  it.each(withdrawals)(
    'when %s, the next open is refused on both nodes',
    async (_name, text, values, code) => {
      const s = await scene();
      expect([(await open(first, s)).status, (await open(second, s)).status]).toEqual([200, 200]);
      await first.db.query(text, values(s));
      expect([(await open(first, s)).body.code, (await open(second, s)).body.code]).toEqual([code, code]);
    },
  );

  it('when an agent is revoked, its next open is refused on both nodes', async () => {
    const s = await scene({ asAgent: true });
    expect([(await open(first, s)).status, (await open(second, s)).status]).toEqual([200, 200]);
    await first.db.query('update agents set revoked_at = now() where id = $1', [s.agentId]);
    expect([(await open(first, s)).status, (await open(second, s)).status]).toEqual([401, 401]);
  });

  it('reaches a key that works in a sub-organization, whose own epoch has not changed', async () => {
    const s = await scene();
    const inChild = { ...s, building: await first.world.building(s.childId) };
    expect((await open(first, inChild, s.childId)).status).toBe(200);
    expect((await open(first, s)).status).toBe(200);
    await first.db.query('update api_keys set revoked_at = now() where id = $1', [s.keyId]);
    expect((await open(first, inChild, s.childId)).status).toBe(401);
  });

  it('a refusal in the name of a revoked key is 401, whatever else is wrong with the request', async () => {
    const s = await scene();
    await open(first, s);
    await first.db.query('update api_keys set revoked_at = now() where id = $1', [s.keyId]);
    const path = `/entities/${s.building.entityId}/actions`;
    expect((await first.request('POST', `${path}/nonsense`, { token: s.token, body: {} })).status).toBe(401);
    expect((await first.request('POST', `${path}/open`, { token: s.token })).status).toBe(401);
  });

  it('would notice a change that does not make a new epoch', async () => {
    const s = await scene();
    await open(first, s);
    await first.db.query('alter table api_keys disable trigger user');
    await first.db.query('update api_keys set revoked_at = now() where id = $1', [s.keyId]);
    await first.db.query('alter table api_keys enable trigger user');
    expect((await open(first, s)).status).toBe(200);
  });
});
