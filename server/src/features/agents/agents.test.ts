import type { Agent } from '@lintel/contract/agents';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RequestOptions, startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import type { BuildingIds } from '../../../test/support/test-world.ts';
import { ulid } from '../../kernel/ulid.ts';

describe('agents', () => {
  let app: TestApp;
  let orgId: string;
  let ownerId: string;
  let building: BuildingIds;
  let secondEntityId: string;
  let admin: string;
  /** Has agents:manage and can open doors, but is no administrator. */
  let manager: string;
  let managerId: string;

  beforeAll(async () => {
    app = await startTestApp();
    orgId = await app.world.org();
    ownerId = await app.world.user();
    await app.world.grant(orgId, ownerId, 'admin');
    managerId = await app.world.user();
    await app.world.grant(
      orgId,
      managerId,
      'agents:manage',
      'api_keys:create',
      'entities:list',
      'entities:read',
    );
    building = await app.world.building(orgId);
    secondEntityId = (await app.world.building(orgId)).entityId;
    admin = (await app.world.key(orgId, ownerId)).token;
    manager = (await app.world.key(orgId, managerId)).token;
  });
  afterAll(() => app.close());

  const send = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, options: RequestOptions = {}) =>
    app.request(method, path, { token: admin, ...options });
  const create = async (body: object = {}, token = admin): Promise<Agent> => {
    const answer = await send('POST', '/agents', { token, body: { name: 'Concierge', ...body } });
    expect(answer.status, answer.text).toBe(201);
    return answer.body as unknown as Agent;
  };
  const credential = async (agentId: string, body: object = {}, token = admin) => {
    const answer = await send('POST', `/agents/${agentId}/credentials`, { token, body });
    expect(answer.status, answer.text).toBe(201);
    return answer.body as { api_key_id: string; token: string; token_suffix: string; expires_at: string };
  };
  const outcome = async (...request: Parameters<typeof send>) => {
    const answer = await send(...request);
    return [answer.status, answer.body?.code ?? null];
  };
  const seenEntities = async (token: string) => {
    const answer = await send('GET', '/entities', { token });
    const items = (answer.body?.items ?? []) as { id: string }[];
    return [answer.status, items.map(({ id }) => id)];
  };
  const events = (resourceId: string) =>
    app.db.query<{ event_type: string; correlation_id: string; details: Record<string, unknown> }>(
      'select event_type, correlation_id, details from audit_events where resource_id = $1 order by occurred_at',
      [resourceId],
    );

  describe('record', () => {
    it('belongs to the caller’s user and allows nothing unless told to', async () => {
      const agent = await create();
      expect(agent).toMatchObject({
        org_id: orgId,
        owner_user_id: ownerId,
        name: 'Concierge',
        purpose: null,
        confirmation_mode: 'policy',
        allowed_entity_ids: null,
        allowed_portal_ids: null,
        allowed_tool_names: null,
        expires_at: null,
        last_used_at: null,
        revoked_at: null,
      });
      expect((await send('GET', `/agents/${agent.id}`)).body).toEqual(agent);
    });

    it('keeps what a PATCH does not name, clears what it names null, sets the rest', async () => {
      const agent = await create({
        purpose: 'opens',
        confirmation_mode: 'human',
        allowed_entity_ids: [building.entityId],
        allowed_tool_names: ['resolve'],
        expires_in: '1d',
      });
      const patch = async (body: object) => (await send('PATCH', `/agents/${agent.id}`, { body })).body;
      const untouched = await patch({});
      expect(untouched).toEqual({ ...agent, updated_at: untouched.updated_at });
      expect(await patch({ name: ' Night  porter ', purpose: null })).toMatchObject({
        name: 'Night  porter',
        purpose: null,
        confirmation_mode: 'human',
        allowed_entity_ids: [building.entityId],
        expires_at: agent.expires_at,
      });
      expect(
        await patch({
          confirmation_mode: null,
          allowed_entity_ids: null,
          allowed_tool_names: null,
          expires_in: null,
        }),
      ).toMatchObject({
        name: 'Night  porter',
        confirmation_mode: 'policy',
        allowed_entity_ids: null,
        allowed_tool_names: null,
        expires_at: null,
      });
    });

    it.each([
      ['a null name', { name: null }],
      ['an empty name', { name: '   ' }],
      ['a hidden character', { purpose: 'a\u202Eb' }],
      ['an unknown mode', { confirmation_mode: 'never' }],
      ['both expiries', { expires_at: '2099-01-01T00:00:00Z', expires_in: '1d' }],
      ['an expiry in the past', { expires_at: '2020-01-01T00:00:00Z' }],
      ['an entity that does not exist', { allowed_entity_ids: [ulid()] }],
      ['a malformed entity id', { allowed_entity_ids: ['door'] }],
      ['an unknown member', { revoked_at: null }],
    ])('refuses %s and changes nothing', async (_, body) => {
      const agent = await create();
      expect(await outcome('PATCH', `/agents/${agent.id}`, { body })).toEqual([400, 'validation_error']);
      expect((await send('GET', `/agents/${agent.id}`)).body).toEqual(agent);
      const bodyOfNew = { name: 'New', ...body };
      expect((await send('POST', '/agents', { body: bodyOfNew })).status).toBe(400);
    });

    it('does not take an entity of another organization, and says the same as for an absent one', async () => {
      const foreign = await app.world.building(await app.world.org());
      const answers = await Promise.all(
        [foreign.entityId, ulid()].map(async (id) => {
          const answer = await send('POST', '/agents', { body: { name: 'A', allowed_entity_ids: [id] } });
          return [answer.status, String(answer.body.message).replace(id, '<id>')];
        }),
      );
      expect(answers[0]).toEqual(answers[1]);
      expect(answers[0]?.[0]).toBe(400);
    });

    it('an entity deleted since does not block other changes', async () => {
      const gone = (await app.world.building(orgId)).entityId;
      const agent = await create({ allowed_entity_ids: [gone] });
      await app.db.query('update entities set deleted_at = now() where id = $1', [gone]);
      const path = `/agents/${agent.id}`;
      expect((await send('PATCH', path, { body: { purpose: 'p' } })).status).toBe(200);
      expect((await send('PATCH', path, { body: { allowed_entity_ids: [gone] } })).status).toBe(400);
    });

    it('is not found under a malformed id', async () => {
      expect(await outcome('GET', '/agents/no-ulid')).toEqual([404, 'not_found']);
    });
  });

  describe('who may manage', () => {
    it('administrators see every agent, others their own', async () => {
      const mine = await create({ name: 'Mine' }, manager);
      const other = await create({ name: 'Other' });
      const ids = async (token: string) => {
        const { body } = await send('GET', '/agents?limit=200', { token });
        return (body.items as Agent[]).map(({ id }) => id);
      };
      expect(await ids(admin)).toEqual(expect.arrayContaining([mine.id, other.id]));
      expect(await ids(manager)).toContain(mine.id);
      expect(await ids(manager)).not.toContain(other.id);
    });

    it('another’s agent is as unknown as an absent one', async () => {
      const other = await create();
      for (const id of [other.id, ulid()]) {
        const path = `/agents/${id}`;
        expect(await outcome('GET', path, { token: manager })).toEqual([404, 'not_found']);
        expect(await outcome('PATCH', path, { token: manager, body: {} })).toEqual([404, 'not_found']);
        expect(await outcome('DELETE', path, { token: manager })).toEqual([404, 'not_found']);
        const asked = await outcome('POST', `${path}/credentials`, { token: manager, body: {} });
        expect(asked).toEqual([404, 'not_found']);
      }
      expect((await send('GET', `/agents/${other.id}`)).body.revoked_at).toBeNull();
    });

    it('agents reach neither agents nor API keys', async () => {
      const agent = await create();
      const { token } = await credential(agent.id);
      expect(await outcome('GET', '/agents', { token })).toEqual([403, 'forbidden']);
      expect(await outcome('GET', '/api-keys', { token })).toEqual([403, 'forbidden']);
      const more = await outcome('POST', `/agents/${agent.id}/credentials`, { token, body: {} });
      expect(more).toEqual([403, 'forbidden']);
    });
  });

  describe('a key limited to entities', () => {
    let limited: string;
    beforeAll(async () => {
      const key = await app.world.key(orgId, ownerId, {
        scopedRoles: ['agents:manage', 'entities:list'],
        scopedEntityIds: [building.entityId],
      });
      limited = key.token;
    });

    it('makes agents within its entities only', async () => {
      const within = { name: 'A', allowed_entity_ids: [building.entityId] };
      expect((await send('POST', '/agents', { token: limited, body: within })).status).toBe(201);
      const beyond = { name: 'A', allowed_entity_ids: [building.entityId, secondEntityId] };
      expect(await outcome('POST', '/agents', { token: limited, body: beyond })).toEqual([403, 'forbidden']);
      const portal = { name: 'A', allowed_portal_ids: [ulid()] };
      expect(await outcome('POST', '/agents', { token: limited, body: portal })).toEqual([403, 'forbidden']);
    });

    it('does not change an agent that reaches further, but may stop it', async () => {
      const wide = await create({ allowed_entity_ids: [secondEntityId], confirmation_mode: 'human' });
      const loosen = { token: limited, body: { confirmation_mode: 'policy' } };
      expect(await outcome('PATCH', `/agents/${wide.id}`, loosen)).toEqual([403, 'forbidden']);
      expect((await send('DELETE', `/agents/${wide.id}`, { token: limited })).status).toBe(204);
    });

    it('gets credentials that stay within its roles and entities, however the agent grows', async () => {
      const agent = await create({ allowed_entity_ids: [building.entityId, secondEntityId] });
      const whole = await credential(agent.id);
      const cut = await credential(agent.id, {}, limited);
      expect(await seenEntities(whole.token)).toEqual([200, [building.entityId, secondEntityId]]);
      expect(await seenEntities(cut.token)).toEqual([200, [building.entityId]]);
      const entity = `/entities/${building.entityId}`;
      expect((await send('GET', entity, { token: whole.token })).status).toBe(200);
      expect(await outcome('GET', entity, { token: cut.token })).toEqual([403, 'forbidden']);
    });
  });

  describe('credential', () => {
    it('is shown once, is an API key of the agent and acts as the agent', async () => {
      const agent = await create({ allowed_entity_ids: [building.entityId] });
      const made = await credential(agent.id, { name: 'phone' });
      expect(made.token.endsWith(made.token_suffix)).toBe(true);
      const keys = (await send('GET', '/api-keys?limit=200')).body.items as { id: string }[];
      expect(keys.find(({ id }) => id === made.api_key_id)).toMatchObject({
        name: 'phone',
        agent_id: agent.id,
      });
      expect(await seenEntities(made.token)).toEqual([200, [building.entityId]]);
      expect((await send('GET', `/agents/${agent.id}`)).text).not.toContain(made.token.slice(-43));
      expect(JSON.stringify(await events(agent.id))).not.toContain(made.token.slice(-43));
    });

    it('of an administrator’s making has the rights of the owner, not of the administrator', async () => {
      const agent = await create({ allowed_entity_ids: [building.entityId] }, manager);
      const { token } = await credential(agent.id, {}, admin);
      expect(await seenEntities(token)).toEqual([200, [building.entityId]]);
      expect((await send('GET', `/orgs/${orgId}/audit/events`, { token })).status).toBe(403);
    });

    it('lives 90 days unless asked otherwise, and never longer than the agent', async () => {
      const day = 86_400_000;
      const lifeOf = async (agentId: string, body: object) => {
        const made = await credential(agentId, body);
        return Math.round((Date.parse(made.expires_at) - Date.now()) / day);
      };
      const lasting = await create();
      const brief = await create({ expires_in: '10d' });
      expect(await lifeOf(lasting.id, {})).toBe(90);
      expect(await lifeOf(lasting.id, { expires_in: '365d' })).toBe(365);
      expect(await lifeOf(brief.id, {})).toBe(10);
      expect(await lifeOf(brief.id, { expires_in: '20d' })).toBe(10);
      expect(await lifeOf(brief.id, { expires_in: '2d' })).toBe(2);
    });

    it('is not given to an agent that is expired, until the agent is extended', async () => {
      const agent = await create({ expires_in: '1d' });
      const { token } = await credential(agent.id);
      await app.db.query("update agents set expires_at = now() - interval '1 s' where id = $1", [agent.id]);
      expect((await seenEntities(token))[0]).toBe(401);
      const asked = await outcome('POST', `/agents/${agent.id}/credentials`, { body: {} });
      expect(asked).toEqual([400, 'validation_error']);
      await send('PATCH', `/agents/${agent.id}`, { body: { expires_in: '1d' } });
      expect((await seenEntities(token))[0]).toBe(200);
    });

    it('shows its use as the agent’s last use', async () => {
      const agent = await create();
      const [first, second] = [await credential(agent.id), await credential(agent.id)];
      const node = await app.secondNode();
      await node.request('GET', '/entities', { token: first.token });
      await node.request('GET', '/entities', { token: second.token });
      await node.close();
      const keys = (await send('GET', '/api-keys?limit=200')).body.items as {
        id: string;
        last_used_at: string;
      }[];
      const newest = keys.find(({ id }) => id === second.api_key_id)?.last_used_at;
      expect(newest).toEqual(expect.any(String));
      expect((await send('GET', `/agents/${agent.id}`)).body.last_used_at).toBe(newest);
    });
  });

  describe('revocation', () => {
    it('stops every credential at once, on a second node too, and keeps its first time', async () => {
      const agent = await create();
      const tokens = [await credential(agent.id), await credential(agent.id)].map(({ token }) => token);
      const node = await app.secondNode();
      expect((await send('DELETE', `/agents/${agent.id}`)).status).toBe(204);
      for (const token of tokens) {
        expect((await seenEntities(token))[0]).toBe(401);
        expect((await node.request('GET', '/entities', { token })).status).toBe(401);
      }
      await node.close();
      const revoked = (await send('GET', `/agents/${agent.id}`)).body;
      expect((await send('DELETE', `/agents/${agent.id}`)).status).toBe(204);
      expect((await send('GET', `/agents/${agent.id}`)).body).toEqual(revoked);
      expect(revoked.revoked_at).toEqual(expect.any(String));
    });

    it('is final: no change, no credential, no way around by the API key routes', async () => {
      const agent = await create();
      const made = await credential(agent.id);
      await send('DELETE', `/agents/${agent.id}`);
      const gone = [409, 'agent_revoked'];
      const key = `/api-keys/${made.api_key_id}`;
      expect(await outcome('PATCH', `/agents/${agent.id}`, { body: { name: 'x' } })).toEqual(gone);
      expect(await outcome('POST', `/agents/${agent.id}/credentials`, { body: {} })).toEqual(gone);
      expect(await outcome('POST', `${key}/restore`)).toEqual(gone);
      expect(await outcome('PATCH', key, { body: { name: 'x', expires_in: '9d' } })).toEqual(gone);
      expect((await seenEntities(made.token))[0]).toBe(401);
      expect(await outcome('DELETE', `${key}/purge`)).toEqual([204, null]);
    });

    it('of one credential leaves the agent and its others alone; it can be restored within the agent’s life', async () => {
      const agent = await create({ expires_in: '2d' });
      const [one, other] = [await credential(agent.id), await credential(agent.id)];
      const key = `/api-keys/${one.api_key_id}`;
      await send('DELETE', key);
      expect((await seenEntities(one.token))[0]).toBe(401);
      expect((await seenEntities(other.token))[0]).toBe(200);
      expect(await outcome('POST', `${key}/restore`)).toEqual([204, null]);
      expect((await seenEntities(one.token))[0]).toBe(200);
      expect(await outcome('PATCH', key, { body: { name: 'x', expires_in: '30d' } })).toEqual([204, null]);
      const keys = (await send('GET', '/api-keys?limit=200')).body.items as {
        id: string;
        expires_at: string;
      }[];
      expect(keys.find(({ id }) => id === one.api_key_id)?.expires_at).toBe(agent.expires_at);
    });

    it('racing with new credentials and restores leaves no live credential behind', async () => {
      for (let round = 0; round < 10; round += 1) {
        const agent = await create();
        const made = await credential(agent.id);
        await send('DELETE', `/api-keys/${made.api_key_id}`);
        const answers = await Promise.all([
          send('DELETE', `/agents/${agent.id}`),
          send('POST', `/agents/${agent.id}/credentials`, { body: {} }),
          send('POST', `/api-keys/${made.api_key_id}/restore`),
          send('POST', `/agents/${agent.id}/credentials`, { body: {} }),
        ]);
        expect(answers.map(({ status }) => status).filter((status) => status >= 500)).toEqual([]);
        const live = await app.db.query(
          'select id from api_keys where agent_id = $1 and revoked_at is null',
          [agent.id],
        );
        expect(live).toEqual([]);
      }
    });
  });

  it('every change leaves one event with the answer’s correlation id', async () => {
    const headers = (id: string) => ({ headers: { 'x-correlation-id': id } });
    const made = await send('POST', '/agents', { body: { name: 'Audited' }, ...headers('c1') });
    const path = `/agents/${made.body.id}`;
    await send('PATCH', path, { body: { purpose: 'p' }, ...headers('c2') });
    await send('POST', `${path}/credentials`, { body: {}, ...headers('c3') });
    await send('DELETE', path, headers('c4'));
    const found = await events(String(made.body.id));
    expect(found.map((event) => [event.event_type, event.correlation_id])).toEqual([
      ['agent.created', 'c1'],
      ['agent.updated', 'c2'],
      ['agent.credential_created', 'c3'],
      ['agent.revoked', 'c4'],
    ]);
    expect(found.every(({ details }) => details.resource_name === 'Audited')).toBe(true);
  });
});
