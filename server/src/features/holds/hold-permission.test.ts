import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createShiftedClock } from '../../../test/support/shifted-clock.ts';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import type { BuildingIds } from '../../../test/support/test-world.ts';
import { ulid } from '../../kernel/ulid.ts';

const clock = createShiftedClock();
const patiently = { timeout: 15_000, interval: 50 };
const hourMs = 60 * 60_000;

describe('holding open takes what an open takes', () => {
  let app: TestApp;
  let orgId: string;
  let building: BuildingIds;
  let admin: Person;
  /** What happens while a request is being decided. */
  let whileDeciding: (() => Promise<unknown>) | null = null;

  interface Person {
    readonly userId: string;
    readonly keyId: string;
    readonly token: string;
  }

  beforeAll(async () => {
    app = await startTestApp({
      clock,
      wrapEngine: (deps) => ({
        ...deps,
        targets: {
          find: async (org, entityId) => {
            const target = await deps.targets.find(org, entityId);
            // The holds of other tests are looked at meanwhile.
            if (entityId !== building.entityId) return target;
            const happens = whileDeciding;
            whileDeciding = null;
            await happens?.();
            return target;
          },
        },
      }),
    });
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    clock.aheadMs = 0;
    whileDeciding = null;
    orgId = await app.world.org();
    building = await app.world.building(orgId);
    admin = await person('admin');
  });

  const person = async (...roles: string[]): Promise<Person> => {
    const userId = await app.world.user();
    await app.world.grant(orgId, userId, ...roles);
    const { token, id } = await app.world.key(orgId, userId);
    return { userId, token, keyId: id };
  };
  const hold = (who: Person, body: object, confirm?: unknown, path = `/entities/${building.entityId}/hold`) =>
    app.request('PUT', path, {
      token: who.token,
      body,
      ...(confirm === undefined ? {} : { headers: { 'x-service-confirm': String(confirm) } }),
    });
  const device = () => `/devices/${building.deviceId}/hold`;
  const open = (who: Person) =>
    app.request('POST', `/entities/${building.entityId}/actions/open`, { token: who.token, body: {} });
  const setPolicy = async (policy_type: string, config: object, more = {}) => {
    const answer = await app.request('POST', `/orgs/${orgId}/policies`, {
      token: admin.token,
      body: { policy_type, config, ...more },
    });
    expect(answer.status, answer.text).toBe(201);
    return String(answer.body.id);
  };
  const entity = async (entityType: string) => {
    const id = ulid();
    await app.db.query(
      `insert into entities (org_id, id, device_id, entity_type, name) values ($1, $2, $3, $4, 'Another')`,
      [orgId, id, building.deviceId, entityType],
    );
    return id;
  };
  const holds = () => app.db.query('select from door_holds where org_id = $1', [orgId]);
  const events = (type: string) =>
    app.db.query<{ outcome: string; actor_api_key_id: string | null; details: Record<string, unknown> }>(
      `select outcome, actor_api_key_id, details from audit_events where org_id = $1 and event_type = $2
       order by occurred_at, id`,
      [orgId, type],
    );
  const inOneHour = () => {
    const at = (hours: number) => new Date(clock.millis() + hours * hourMs).toISOString().slice(11, 16);
    return { days: [1, 2, 3, 4, 5, 6, 7], start: at(1), end: at(2) };
  };
  const windowBegins = async () => {
    clock.aheadMs += hourMs + 60_000;
    await app.db.query('update hold_jobs set due_at = now() where org_id = $1', [orgId]);
  };
  const outcomes = async () => (await events('entity.action')).map(({ outcome }) => outcome);

  it('the role to open, beside the one to change; keeping closed and ending it do not', async () => {
    const changer = await person('entities:update', 'devices:update');
    for (const path of [undefined, device()]) {
      expect(await hold(changer, { mode: 'hold_open' }, undefined, path)).toMatchObject({
        status: 403,
        body: { code: 'forbidden', message: 'the key lacks the role entities:set_state' },
      });
      expect(await hold(changer, { mode: 'hold_closed' }, undefined, path)).toMatchObject({ status: 200 });
      expect(await hold(changer, { mode: 'normal' }, undefined, path)).toMatchObject({ status: 200 });
    }
    const opener = await person('entities:update', 'entities:set_state');
    expect((await hold(opener, { mode: 'hold_open' })).status).toBe(200);
  });

  it('the role also where there is nothing to open yet', async () => {
    await app.db.query('delete from entities where org_id = $1', [orgId]);
    const changer = await person('devices:update');
    expect((await hold(changer, { mode: 'hold_open' }, undefined, device())).status).toBe(403);
    expect((await hold(admin, { mode: 'hold_open' }, undefined, device())).status).toBe(200);
  });

  it.each([
    ['quiet_hours', { start: '00:00', end: '23:59', applies_to: ['api_key'] }],
    ['cedar', { policy: 'forbid (principal is ApiKey, action, resource);' }],
  ])('no policy that denies: %s', async (type, config) => {
    const policyId = await setPolicy(type, config);
    for (const path of [undefined, device()]) {
      const denied = await hold(admin, { mode: 'hold_open' }, undefined, path);
      expect(denied).toMatchObject({ status: 403, body: { code: 'policy_denied' } });
      expect(denied.body.message).toContain(`(${type} ${policyId})`);
    }
    expect(await holds()).toEqual([]);
    for (const noun of ['entity', 'device'])
      expect(await events(`${noun}.hold_changed`)).toMatchObject([
        {
          outcome: 'denied',
          actor_api_key_id: admin.keyId,
          details: { mode: 'hold_open', policy_id: policyId, policy_type: type, code: 'policy_denied' },
        },
      ]);
    expect((await hold(admin, { mode: 'hold_closed' })).status).toBe(200);
  });

  it('no lockdown', async () => {
    await app.request('PUT', `/orgs/${orgId}/lockdown`, { token: admin.token, body: { active: true } });
    expect(await hold(admin, { mode: 'hold_open' })).toMatchObject({
      status: 403,
      body: { code: 'policy_denied' },
    });
  });

  it('no policy that asks for consent, and says so', async () => {
    await setPolicy('require_step_up', {}, { enforcement: 'require_approval' });
    expect((await open(admin)).body.code).toBe('approval_required');
    const denied = await hold(admin, { mode: 'hold_open' });
    expect(denied).toMatchObject({ status: 403, body: { code: 'policy_denied' } });
    expect(denied.body.message).toContain('can not be opened by consent');
  });

  it('the confirmation of exactly this request, once', async () => {
    await setPolicy('require_step_up', {});
    const body = { mode: 'hold_open', reason: 'party' };
    const asked = await hold(admin, body);
    expect(asked).toMatchObject({ status: 409, body: { code: 'confirmation_required' } });
    const { preview_token: token } = asked.body;
    const invalid = { status: 409, body: { code: 'confirmation_invalid' } };
    const second = await person('admin');
    expect(await hold(second, body, token)).toMatchObject(invalid);
    expect(await hold(admin, { ...body, reason: 'Party' }, token)).toMatchObject(invalid);
    expect(await hold(admin, body, token, device())).toMatchObject(invalid);
    expect(await hold(admin, body, token, `/entities/${await entity('door')}/hold`)).toMatchObject(invalid);
    const preview = await app.request('POST', `/entities/${building.entityId}/actions/open/preview`, {
      token: admin.token,
      body,
    });
    expect(await hold(admin, body, preview.body.preview_token)).toMatchObject(invalid);
    expect(await holds()).toEqual([]);

    const answers = await Promise.all(Array.from({ length: 8 }, () => hold(admin, body, token)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ body: { code } }) => code === 'confirmation_invalid')).toHaveLength(7);
    await vi.waitFor(async () => expect(await outcomes()).toEqual(['succeeded']), patiently);
    // What makes nothing easier asks for nothing.
    expect((await hold(admin, { mode: 'normal' })).status).toBe(200);
  });

  it('a refused hold spends no confirmation', async () => {
    await setPolicy('require_step_up', {});
    const asked = await hold(admin, { mode: 'hold_open' });
    await hold(admin, { mode: 'hold_closed' }, undefined, device());
    const refused = await hold(admin, { mode: 'hold_open' }, asked.body.preview_token);
    expect(refused.body.code).toBe('hold_conflict');
    await hold(admin, { mode: 'normal' }, undefined, device());
    expect((await hold(admin, { mode: 'hold_open' }, asked.body.preview_token)).status).toBe(200);
  });

  it('all of it for everything that it reaches', async () => {
    const second = await entity('switch');
    await setPolicy('quiet_hours', { start: '00:00', end: '23:59', output: second });
    expect((await hold(admin, { mode: 'hold_open' })).status).toBe(200);
    await hold(admin, { mode: 'normal' });
    expect((await hold(admin, { mode: 'hold_open' }, undefined, device())).body.code).toBe('policy_denied');
  });

  it('the lights that a limited key may switch', async () => {
    await entity('light');
    const key = await app.world.key(orgId, admin.userId, { scopedEntityIds: [building.entityId] });
    const limited = { ...admin, token: key.token };
    expect(await hold(limited, { mode: 'hold_open', include_lights: true })).toMatchObject({
      status: 403,
      body: { code: 'policy_denied' },
    });
    expect((await hold(limited, { mode: 'hold_open' })).status).toBe(200);
  });

  it('in place of being held closed: that hold is not in its own way', async () => {
    await hold(admin, { mode: 'hold_closed' });
    expect((await hold(admin, { mode: 'hold_open' })).status).toBe(200);
  });

  it('rights that are taken away while it is decided do not count any more', async () => {
    const opener = await person('entities:update', 'entities:set_state');
    whileDeciding = () =>
      app.db.query(`delete from role_grants where user_id = $1 and role = 'entities:set_state'`, [
        opener.userId,
      ]);
    expect(await hold(opener, { mode: 'hold_open' })).toMatchObject({
      status: 403,
      body: { code: 'forbidden' },
    });
    expect(await holds()).toEqual([]);
  });

  describe('again when a window begins, with the rights of whoever set it', () => {
    it.each<[string, string, string, string]>([
      [
        'the role is gone',
        `delete from role_grants where user_id = $1 and $2 <> ''`,
        'api_key_role',
        'lacks',
      ],
      [
        'the key is revoked',
        `update api_keys set revoked_at = now() where created_by_user_id = $1 and id = $2`,
        'hold_setter',
        'gone',
      ],
      [
        'the key is expired',
        `update api_keys set expires_at = now() where created_by_user_id = $1 and id = $2`,
        'hold_setter',
        'gone',
      ],
      [
        'the key is cut to other roles',
        `update api_keys set scoped_roles = '{entities:update}' where created_by_user_id = $1 and id = $2`,
        'api_key_role',
        'lacks',
      ],
      [
        'the person is gone',
        `update users set deleted_at = now() where id = $1 and $2 <> ''`,
        'hold_setter',
        'gone',
      ],
    ])('%s: it stays closed, with one event', async (_name, change, type, message) => {
      const opener = await person('entities:update', 'entities:set_state');
      const put = await hold(opener, { mode: 'hold_open', recurrence: inOneHour() });
      expect(put.status, put.text).toBe(200);
      await app.db.query(change, [opener.userId, opener.keyId]);
      await windowBegins();
      await vi.waitFor(async () => {
        const [denied, ...more] = await events('entity.action');
        expect(denied).toMatchObject({
          outcome: 'denied',
          details: { hold_id: put.body.id, policy_type: type, automatic: true },
        });
        expect(denied?.details.message).toContain(message);
        expect(more).toEqual([]);
      }, patiently);
      // Looked at again, it is neither opened nor denied a second time.
      await app.db.query('update held_open set due_at = now() where org_id = $1', [orgId]);
      await vi.waitFor(async () => {
        const [row] = await app.db.query<{ attempts: number }>(
          'select attempts from held_open where org_id = $1',
          [orgId],
        );
        expect(row?.attempts).toBeGreaterThan(1);
      }, patiently);
      expect(await outcomes()).toEqual(['denied']);
    });

    it('it opens for who may open by then, here or by a right from above', async () => {
      const root = await app.world.user();
      await app.world.grant((await pathOf(orgId))[0] ?? '', root, 'admin');
      const key = await app.world.key((await pathOf(orgId))[0] ?? '', root);
      const put = await app.request('PUT', `/entities/${building.entityId}/hold`, {
        token: key.token,
        org: orgId,
        body: { mode: 'hold_open', recurrence: inOneHour() },
      });
      expect(put.status, put.text).toBe(200);
      await windowBegins();
      await vi.waitFor(async () => expect(await outcomes()).toEqual(['succeeded']), patiently);
    });

    it.each([
      ['has the role', '', 'succeeded'],
      ['lost the role', `delete from role_grants where user_id = $1`, 'denied'],
      ['is gone', `update users set deleted_at = now() where id = $1`, 'denied'],
    ])('set by somebody without a key, who %s', async (_name, change, outcome) => {
      const opener = await person('entities:update', 'entities:set_state');
      await hold(opener, { mode: 'hold_open', recurrence: inOneHour() });
      await app.db.query('update door_holds set key_id = null where org_id = $1', [orgId]);
      if (change !== '') await app.db.query(change, [opener.userId]);
      await windowBegins();
      await vi.waitFor(async () => expect(await outcomes()).toEqual([outcome]), patiently);
    });

    it('what was confirmed stays confirmed', async () => {
      await setPolicy('require_step_up', {});
      const body = { mode: 'hold_open', recurrence: inOneHour() };
      const asked = await hold(admin, body);
      expect((await hold(admin, body, asked.body.preview_token)).status).toBe(200);
      await windowBegins();
      await vi.waitFor(async () => expect(await outcomes()).toEqual(['succeeded']), patiently);
    });

    it.each([
      ['a confirmation that nobody gave', 'require_step_up', {}, {}],
      ['consent', 'require_step_up', {}, { enforcement: 'require_approval' }],
      ['other hours', 'quiet_hours', { start: '00:00', end: '23:59' }, {}],
    ])('a policy that came since then and asks for %s is in its way', async (_name, type, config, more) => {
      const put = await hold(admin, { mode: 'hold_open', recurrence: inOneHour() });
      expect(put.status, put.text).toBe(200);
      const policyId = await setPolicy(type, config, more);
      await windowBegins();
      await vi.waitFor(
        async () =>
          expect(await events('entity.action')).toMatchObject([
            { outcome: 'denied', details: { hold_id: put.body.id, policy_id: policyId, policy_type: type } },
          ]),
        patiently,
      );
    });
  });

  const pathOf = async (id: string) =>
    (await app.db.query<{ path: string[] }>('select path from orgs where id = $1', [id]))[0]?.path ?? [];
});
