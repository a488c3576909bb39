import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { signIn } from '../../../test/support/scenario-signin.ts';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import type { BuildingIds } from '../../../test/support/test-world.ts';
import { ulid } from '../../kernel/ulid.ts';

interface Person {
  readonly userId: string;
  readonly token: string;
  readonly session: Record<string, string>;
}

describe('approvals', () => {
  let app: TestApp;
  let orgId: string;
  let building: BuildingIds;
  let asker: Person;
  let first: Person;
  let second: Person;

  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    orgId = await app.world.org();
    building = await app.world.building(orgId);
    asker = await person('admin');
    first = await person('policies:approve');
    second = await person('policies:approve');
  });

  async function person(...roles: string[]): Promise<Person> {
    const userId = await app.world.user();
    await app.world.grant(orgId, userId, ...roles);
    return { userId, token: (await app.world.key(orgId, userId)).token, session: await signIn(app, userId) };
  }
  const setPolicy = (policy_type: string, config: object, more = {}) =>
    app.request('POST', `/orgs/${orgId}/policies`, {
      token: asker.token,
      body: { policy_type, config, ...more },
    });
  const askForConsent = () => setPolicy('require_step_up', {}, { enforcement: 'require_approval' });
  const open = (token = asker.token, body: unknown = {}) =>
    app.request('POST', `/entities/${building.entityId}/actions/open`, {
      token,
      body,
      headers: { 'idempotency-key': ulid() },
    });
  const vote = (approvalId: string, voice: 'approve' | 'deny', by: Person) =>
    app.request('POST', `/orgs/${orgId}/policy-approvals/${approvalId}/${voice}`, { headers: by.session });
  const pending = async () =>
    (await app.request('GET', `/orgs/${orgId}/policy-approvals`, { token: asker.token }))
      .body as unknown as Record<string, unknown>[];
  const asked = async (token = asker.token, body: unknown = {}) => {
    const answer = await open(token, body);
    expect(answer, answer.text).toMatchObject({ status: 403, body: { code: 'approval_required' } });
    const [detail] = answer.body.details ?? [];
    expect(detail?.path).toBe('/approval_id');
    const id = String(detail?.message);
    expect(answer.body.message).toContain(`approval ${id}`);
    return id;
  };
  const commands = () =>
    app.db.query(`select from intents where org_id = $1 and state = 'succeeded'`, [orgId]);

  it('what needs consent is refused with the id of the request, listed, and opens once when given', async () => {
    const policy = await askForConsent();
    const id = await asked();
    expect(await asked()).toBe(id);
    expect(await pending()).toMatchObject([
      {
        id,
        policy_id: policy.body.id,
        policy_type: 'require_step_up',
        requester_user_id: asker.userId,
        requester_kind: 'api_key',
        status: 'pending',
        required_count: 1,
        approve_count: 0,
        subject_kind: 'entity_action',
        subject_ref: building.entityId,
        subject_label: 'Front door',
      },
    ]);
    expect(await vote(id, 'approve', first)).toMatchObject({
      status: 200,
      body: { id, status: 'approved', approve_count: 1, required_count: 1 },
    });
    expect(await pending()).toEqual([]);
    expect((await open()).status).toBe(200);
    expect(await asked()).not.toBe(id);
    expect(await commands()).toHaveLength(1);
  });

  // Ten times as many as there are connections to the database, and none of them waits too long for one.
  it('one consent lets one of 100 at once through', async () => {
    await askForConsent();
    await vote(await asked(), 'approve', first);
    const answers = await Promise.all(Array.from({ length: 100 }, () => open()));
    const codes = answers.map(({ status, body }) => (status === 200 ? 'executed' : body.code));
    expect(codes.filter((code) => code === 'executed')).toHaveLength(1);
    expect(codes.filter((code) => code === 'approval_required')).toHaveLength(99);
    const refusals = answers.filter(({ status }) => status !== 200);
    expect(refusals.filter(({ body }) => !body.message?.includes('(require_step_up '))).toEqual([]);
    expect(await commands()).toHaveLength(1);
  });

  it('is for exactly one request: not another payload, caller or door', async () => {
    await askForConsent();
    const id = await asked(asker.token, { auto_close: 5 });
    await vote(id, 'approve', first);
    const another = (await app.world.key(orgId, asker.userId)).token;
    expect(await asked(asker.token, { auto_close: 6 })).not.toBe(id);
    expect(await asked(asker.token, {})).not.toBe(id);
    expect(await asked(another, { auto_close: 5 })).not.toBe(id);
    expect((await open(asker.token, { auto_close: 5 })).status).toBe(200);
  });

  it('nobody decides on their own request, nor on that of their key or agent', async () => {
    await askForConsent();
    const agentId = await app.world.agent(orgId, asker.userId, { allowedEntityIds: [building.entityId] });
    const agent = (await app.world.key(orgId, asker.userId, { agentId })).token;
    const bySession = await app.request('POST', `/entities/${building.entityId}/actions/open`, {
      headers: { ...asker.session, 'x-org': orgId },
      body: {},
    });
    const ids = [await asked(), await asked(agent), String(bySession.body.details?.[0]?.message)];
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) {
      for (const voice of ['approve', 'deny'] as const)
        expect(await vote(id, voice, asker)).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    }
    expect(await pending()).toHaveLength(3);
  });

  it('a vote needs a person at a browser with the role: no key, no agent, nobody without it', async () => {
    await askForConsent();
    const id = await asked();
    const path = `/orgs/${orgId}/policy-approvals/${id}/approve`;
    expect((await app.request('POST', path, { token: first.token })).status).toBe(401);
    const agentId = await app.world.agent(orgId, first.userId);
    const agent = (await app.world.key(orgId, first.userId, { agentId })).token;
    expect((await app.request('POST', path, { token: agent })).status).toBe(401);
    const member = await person('entities:read');
    expect((await vote(id, 'approve', member)).status).toBe(403);
    expect((await vote(ulid(), 'approve', first)).status).toBe(404);
    expect(await pending()).toMatchObject([{ approve_count: 0 }]);
  });

  it('a threshold of two needs two different people', async () => {
    await askForConsent();
    await setPolicy('approval_threshold', { count: 2, scope: 'org_admins' });
    const id = await asked();
    expect((await vote(id, 'approve', first)).body).toMatchObject({ status: 'pending', approve_count: 1 });
    expect(await vote(id, 'approve', first)).toMatchObject({ status: 409, body: { code: 'already_voted' } });
    expect(await vote(id, 'deny', first)).toMatchObject({ status: 409, body: { code: 'already_voted' } });
    expect(await asked()).toBe(id);
    expect((await vote(id, 'approve', second)).body).toMatchObject({ status: 'approved', approve_count: 2 });
    expect((await open()).status).toBe(200);
  });

  it('votes of two people at once both count', async () => {
    await askForConsent();
    await setPolicy('approval_threshold', { count: 2 });
    for (let round = 0; round < 10; round += 1) {
      const id = await asked();
      const answers = await Promise.all([first, second].map((by) => vote(id, 'approve', by)));
      expect(answers.map(({ body }) => body.status).sort()).toEqual(['approved', 'pending']);
      expect((await open()).status).toBe(200);
    }
  });

  it('is for the policies and the threshold that asked, not for what comes later', async () => {
    const policy = await askForConsent();
    const id = await asked();
    await vote(id, 'approve', first);
    await setPolicy('approval_threshold', { count: 2 });
    const again = await asked();
    expect(again).not.toBe(id);
    await Promise.all([first, second].map((by) => vote(again, 'approve', by)));
    await app.request('DELETE', `/orgs/${orgId}/policies/${policy.body.id}`, { token: asker.token });
    await askForConsent();
    expect(await asked()).not.toBe(again);
    expect(await commands()).toHaveLength(0);
  });

  it('does not stand for the confirmation of the caller', async () => {
    await askForConsent();
    await setPolicy('require_step_up', {});
    const preview = () =>
      app.request('POST', `/entities/${building.entityId}/actions/open/preview`, {
        token: asker.token,
        body: {},
      });
    expect((await preview()).body).toMatchObject({ decision: 'approve', confirmation_required: false });
    await vote(await asked(), 'approve', first);
    expect((await preview()).body).toMatchObject({ decision: 'confirm', confirmation_required: true });
    const unconfirmed = await open();
    expect([unconfirmed.status, unconfirmed.body.code]).toEqual([409, 'confirmation_required']);
    const confirmed = await app.request('POST', `/entities/${building.entityId}/actions/open`, {
      token: asker.token,
      body: {},
      headers: { 'x-service-confirm': String(unconfirmed.body.preview_token) },
    });
    expect(confirmed.status, confirmed.text).toBe(200);
    await asked();
  });

  it('tells who decides what would be done', async () => {
    await askForConsent();
    await asked(asker.token, { auto_close: 0 });
    expect(await pending()).toMatchObject([{ note: 'switchable.open {"auto_close":0}' }]);
  });

  it('votes of one person at once count once', async () => {
    await askForConsent();
    await setPolicy('approval_threshold', { count: 2 });
    const id = await asked();
    const answers = await Promise.all(Array.from({ length: 10 }, () => vote(id, 'approve', first)));
    expect(answers.map(({ status }) => status).sort()).toEqual([
      200,
      ...Array.from({ length: 9 }, () => 409),
    ]);
    expect(await pending()).toMatchObject([{ approve_count: 1 }]);
  });

  it('one refusal closes the request', async () => {
    await askForConsent();
    await setPolicy('approval_threshold', { count: 2 });
    const id = await asked();
    await vote(id, 'approve', first);
    expect((await vote(id, 'deny', second)).body).toMatchObject({ status: 'denied' });
    const third = await person('policies:approve');
    expect(await vote(id, 'approve', third)).toMatchObject({
      status: 409,
      body: { code: 'approval_closed' },
    });
    expect(await asked()).not.toBe(id);
    const events = await app.db.query<{ event_type: string }>(
      `select event_type from audit_events where org_id = $1 and resource_id = $2 order by occurred_at`,
      [orgId, id],
    );
    expect(events.map((event) => event.event_type)).toEqual(['policy.approved', 'policy.approval_denied']);
  });

  it('lives 24 hours while it waits, and a quarter of an hour once it is given', async () => {
    await askForConsent();
    const id = await asked();
    const leftMinutes = async () => {
      const [row] = await app.db.query<{ minutes: number }>(
        'select round(extract(epoch from expires_at - now()) / 60)::int as minutes from policy_approvals where id = $1',
        [id],
      );
      return row?.minutes;
    };
    expect(await leftMinutes()).toBe(24 * 60);
    await vote(id, 'approve', first);
    expect(await leftMinutes()).toBe(15);
    await app.db.query(`update policy_approvals set expires_at = now() - interval '1 second' where id = $1`, [
      id,
    ]);
    const next = await asked();
    expect(next).not.toBe(id);
    await app.db.query(`update policy_approvals set expires_at = now() - interval '1 second' where id = $1`, [
      next,
    ]);
    expect(await vote(next, 'approve', first)).toMatchObject({
      status: 409,
      body: { code: 'approval_closed' },
    });
    expect(await pending()).toEqual([]);
    expect(await asked()).not.toBe(next);
  });

  it('what is over is marked so, and forgotten after a month', async () => {
    await askForConsent();
    const id = await asked();
    await app.db.query(`update policy_approvals set expires_at = now() - interval '1 second' where id = $1`, [
      id,
    ]);
    const status = async () =>
      (await app.db.query<{ status: string }>('select status from policy_approvals where id = $1', [id]))[0]
        ?.status;
    await vi.waitFor(async () => expect(await status()).toBe('expired'), { timeout: 15_000, interval: 100 });
    await app.db.query(`update policy_approvals set created_at = now() - interval '31 days' where id = $1`, [
      id,
    ]);
    await vi.waitFor(async () => expect(await status()).toBeUndefined(), { timeout: 15_000, interval: 100 });
  });

  it('an agent that needs a human asks one, and its owner is none', async () => {
    const agentId = await app.world.agent(orgId, asker.userId, {
      allowedEntityIds: [building.entityId],
      confirmationMode: 'human',
    });
    const agent = (await app.world.key(orgId, asker.userId, { agentId })).token;
    const id = await asked(agent);
    expect(await pending()).toMatchObject([
      {
        policy_id: agentId,
        policy_type: 'agent_confirmation',
        requester_kind: 'agent',
        requester_id: agentId,
      },
    ]);
    expect((await vote(id, 'approve', asker)).status).toBe(403);
    await vote(id, 'approve', first);
    expect((await open(agent)).status).toBe(200);
    expect((await open(agent)).status).toBe(403);
  });
});
