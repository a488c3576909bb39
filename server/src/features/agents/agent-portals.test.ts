// allowed_portal_ids: what an agent may open by the portals it is given.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPortalSite, type PortalSite } from '../../../test/support/portal-site.ts';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { rootAdminId } from '../../../test/support/test-world.ts';
import { ulid } from '../../kernel/ulid.ts';

describe('the portals of an agent', () => {
  let app: TestApp;
  let site: PortalSite;
  let door: string;
  let portal: { deviceId: string; id: string };
  let other: { deviceId: string; id: string };

  beforeAll(async () => {
    app = await startTestApp();
    site = await createPortalSite(app);
    door = (await app.world.building(site.orgId)).entityId;
    const metadata = { virtual_access: { openers: [{ entity_id: door }] } };
    portal = await site.device(metadata);
    other = await site.device(metadata);
  });
  afterAll(() => app.close());

  const send = (method: 'GET' | 'POST' | 'PATCH', path: string, body?: object) =>
    app.request(method, path, { token: site.token, org: site.orgId, ...(body && { body }) });
  const create = async (lists: object): Promise<{ id: string; token: string }> => {
    const made = await send('POST', '/agents', { name: 'Concierge', ...lists });
    expect(made.status, made.text).toBe(201);
    const id = String(made.body.id);
    const credential = await send('POST', `/agents/${id}/credentials`, {});
    return { id, token: String(credential.body.token) };
  };
  const open = (token: string, entityId: string) =>
    app.request('POST', `/entities/${entityId}/actions/switchable.open`, {
      ...{ token, body: {}, headers: { 'idempotency-key': ulid() } },
    });
  const outcomes = async (token: string) => {
    const answers = [];
    for (const id of [portal.id, other.id, door]) answers.push(await open(token, id));
    return answers.map(({ status, body }) => body.code ?? status);
  };

  it('are opened and seen, and neither another portal nor the door behind it is', async () => {
    const agent = await create({ allowed_portal_ids: [portal.deviceId] });
    expect(await outcomes(agent.token)).toEqual([200, 'policy_denied', 'policy_denied']);
    const seen = await app.request('GET', '/entities', { token: agent.token });
    expect((seen.body.items as { id: string }[]).map(({ id }) => id)).toEqual([portal.id]);
  });

  it('add to the entities it is allowed', async () => {
    const agent = await create({ allowed_portal_ids: [portal.deviceId], allowed_entity_ids: [door] });
    expect(await outcomes(agent.token)).toEqual([200, 'policy_denied', 200]);
  });

  it('hold from the next request on when they change, and so do their entities', async () => {
    const agent = await create({ allowed_portal_ids: [portal.deviceId] });
    expect((await open(agent.token, portal.id)).status).toBe(200);
    const changed = await send('PATCH', `/agents/${agent.id}`, { allowed_portal_ids: [other.deviceId] });
    expect(changed.body.allowed_portal_ids).toEqual([other.deviceId]);
    expect(await outcomes(agent.token)).toEqual(['policy_denied', 200, 'policy_denied']);
    const added = await send('POST', '/entities', { device_id: other.deviceId, entity_type: 'door' });
    expect((await open(agent.token, String(added.body.id))).status).toBe(200);
    await send('PATCH', `/agents/${agent.id}`, { allowed_portal_ids: null });
    expect(await outcomes(agent.token)).toEqual(['policy_denied', 'policy_denied', 'policy_denied']);
  });

  it('would be missed if the credential forgot them, or had those of all portals', async () => {
    const reach = (answer: string) =>
      app.db.query(`create or replace function agent_reach(p_org text, p_entities text[], p_portals text[])
        returns text[] language sql stable as $$ select ${answer} $$`);
    const [real] = await app.db.query<{ text: string }>(
      `select pg_get_functiondef('agent_reach'::regproc) as text`,
    );
    const right = [200, 'policy_denied', 'policy_denied'];
    const all = `array(select e.id from entities e where e.org_id = p_org)`;
    for (const wrong of ['p_entities', all]) {
      await reach(wrong);
      const agent = await create({ allowed_portal_ids: [portal.deviceId] });
      expect(await outcomes(agent.token)).not.toEqual(right);
    }
    await app.db.query(String(real?.text));
    const agent = await create({ allowed_portal_ids: [portal.deviceId] });
    expect(await outcomes(agent.token)).toEqual(right);
  });

  it('do not widen a credential that a limited key asked for', async () => {
    const agent = await create({ allowed_portal_ids: [portal.deviceId], allowed_entity_ids: [door] });
    const key = { agentId: agent.id, scopedEntityIds: [door] };
    const { token } = await app.world.key(site.orgId, rootAdminId, key);
    expect(await outcomes(token)).toEqual(['policy_denied', 'policy_denied', 200]);
  });

  it('are known to whoever asks who could open them', async () => {
    const agent = await create({ allowed_portal_ids: [other.deviceId] });
    const path = `/orgs/${site.orgId}/policies/what-if?entity_id=${other.id}`;
    const { body, text } = await send('GET', path);
    const rows = (body.principals ?? []) as { id?: string }[];
    expect(
      rows.map(({ id }) => id),
      text,
    ).toContain(agent.id);
  });

  it('must be portals of the organization', async () => {
    const elsewhere = await createPortalSite(app);
    const foreign = await elsewhere.device({});
    const plain = (await app.world.building(site.orgId)).deviceId;
    const directory = await site.device({ kind: 'virtual_access_directory' }, 'directory_listing');
    const agent = await create({});
    for (const id of [ulid(), foreign.deviceId, plain, portal.id, directory.deviceId]) {
      const lists = { allowed_portal_ids: [portal.deviceId, id] };
      for (const answer of [
        await send('POST', '/agents', { name: 'A', ...lists }),
        await send('PATCH', `/agents/${agent.id}`, lists),
      ]) {
        const [detail] = (answer.body.details ?? []) as { path: string }[];
        expect([answer.status, detail?.path], answer.text).toEqual([400, '/allowed_portal_ids']);
      }
    }
  });

  it('that were deleted since block no other change', async () => {
    const gone = await site.device({ virtual_access: { openers: [{ entity_id: door }] } });
    const agent = await create({ allowed_portal_ids: [gone.deviceId] });
    for (const path of [`/entities/${gone.id}`, `/devices/${gone.deviceId}`])
      expect((await app.request('DELETE', path, { token: site.token, org: site.orgId })).status).toBe(200);
    expect((await open(agent.token, gone.id)).status).toBe(404);
    expect((await send('PATCH', `/agents/${agent.id}`, { name: 'Porter' })).status).toBe(200);
  });
});
