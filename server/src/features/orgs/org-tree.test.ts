import type { Organization } from '@lintel/contract/orgs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { rootAdminId, rootOrgId } from '../../../test/support/test-world.ts';
import { ulid } from '../../kernel/ulid.ts';

describe('changing the tree', () => {
  let app: TestApp;
  let platform: string;

  beforeAll(async () => {
    app = await startTestApp();
    platform = (await app.world.key(rootOrgId, rootAdminId)).token;
  });
  afterAll(() => app.close());

  const create = (body: object, token = platform) => app.request('POST', '/orgs', { token, body });
  const update = (id: string, body: object, token = platform) =>
    app.request('PUT', `/orgs/${id}`, { token, body });
  const verdict = (answer: { status: number; body: { code?: string } }) => [answer.status, answer.body.code];
  const keyWith = async (orgId: string, ...roles: string[]) => {
    const userId = await app.world.user();
    await app.world.grant(orgId, userId, ...roles);
    return (await app.world.key(orgId, userId)).token;
  };
  const row = async (id: string) => {
    const text = 'select parent_id, path, name, description, default_locale from orgs where id = $1';
    return (await app.db.query<Record<string, unknown>>(text, [id]))[0];
  };
  const events = (id: string, type: string) =>
    app.db.query<Record<string, unknown>>(
      `select org_id, outcome, actor_api_key_id, correlation_id, resource_id, details from audit_events
       where resource_id = $1 and event_type = $2 order by occurred_at`,
      [id, type],
    );
  const chain = async (length: number, parentId = rootOrgId) => {
    const made = [parentId];
    for (let level = 0; level < length; level += 1) {
      made.push(await app.world.org({ parentId: made.at(-1) ?? rootOrgId }));
    }
    return made;
  };

  describe('create', () => {
    it('puts an organization below the root unless told otherwise', async () => {
      const answer = await create({ name: ' Acme ', description: 'Locks' });
      expect(answer.status, answer.text).toBe(201);
      const org = answer.body as unknown as Organization;
      expect(org).toMatchObject({ name: { en: 'Acme' }, description: 'Locks', parent_id: rootOrgId });
      expect(org.user_roles).toEqual({});
      expect(await row(org.id)).toMatchObject({ path: [rootOrgId, org.id] });
      expect((await app.request('GET', `/orgs/${org.id}`, { token: platform })).body).toEqual(answer.body);
    });

    it('writes one event, in the new organization', async () => {
      const answer = await create({ name: { de: 'Werk', en: 'Plant' } });
      const id = String(answer.body.id);
      expect(await events(id, 'org.created')).toEqual([
        expect.objectContaining({
          org_id: id,
          outcome: 'succeeded',
          correlation_id: answer.headers['x-request-id'],
          details: { resource_name: 'Plant', parent_id: rootOrgId },
        }),
      ]);
    });

    it('lets an administrator create below their own organization, at any depth, with an id of choice', async () => {
      const [, top = '', middle = ''] = await chain(2);
      const token = await keyWith(top, 'admin');
      const id = ulid();
      const answer = await create({ id, name: 'Deep', parent_id: middle }, token);
      expect(verdict(answer)).toEqual([201, undefined]);
      expect(await row(id)).toMatchObject({ path: [rootOrgId, top, middle, id] });
    });

    it('takes the default language of the parent', async () => {
      const parent = await app.world.org();
      await app.db.query(`update orgs set default_locale = 'de' where id = $1`, [parent]);
      const answer = await create({ name: 'Werk', parent_id: parent });
      expect(answer.body.name).toEqual({ de: 'Werk' });
      expect(await row(String(answer.body.id))).toMatchObject({ default_locale: 'de' });
    });

    it('needs admin on the parent; an unseen parent is unknown', async () => {
      const org = await app.world.org();
      const foreign = await app.world.org();
      const deleted = await app.world.org({ parentId: org });
      await app.db.query('update orgs set deleted_at = now() where id = $1', [deleted]);
      const weak = await keyWith(org, 'orgs:create', 'orgs:update');
      const strong = await keyWith(org, 'admin');
      expect(verdict(await create({ name: 'x', parent_id: org }, weak))).toEqual([403, 'forbidden']);
      expect(verdict(await create({ name: 'x' }, strong))).toEqual([403, 'forbidden']);
      for (const parent of [foreign, ulid(), rootOrgId, deleted]) {
        const answer = await create({ name: 'x', parent_id: parent }, strong);
        expect([...verdict(answer), answer.body.message]).toEqual([404, 'not_found', 'not found']);
      }
    });

    it('refuses an id that is taken anywhere, and tells nothing more', async () => {
      const mine = await app.world.org();
      const foreign = await app.world.org({ name: 'Secret' });
      const token = await keyWith(mine, 'admin');
      const answers = await Promise.all(
        [foreign, mine, rootOrgId].map((id) => create({ id, name: 'x', parent_id: mine }, token)),
      );
      for (const answer of answers) {
        expect(verdict(answer)).toEqual([409, 'already_exists']);
        expect(answer.text).not.toContain('Secret');
      }
      expect(new Set(answers.map((answer) => answer.body.message)).size).toBe(1);
      expect(await row(foreign)).toMatchObject({ parent_id: rootOrgId, name: { en: 'Secret' } });
    });

    it('makes one of two organizations created with the same id at once', async () => {
      const id = ulid();
      const answers = await Promise.all([create({ id, name: 'a' }), create({ id, name: 'b' })]);
      expect(answers.map((answer) => answer.status).toSorted()).toEqual([201, 409]);
    });

    it('stops at 16 levels', async () => {
      const levels = await chain(14);
      const last = await create({ name: 'level 16', parent_id: levels.at(-1) });
      expect(last.status).toBe(201);
      const beyond = await create({ name: 'level 17', parent_id: last.body.id });
      expect(verdict(beyond)).toEqual([422, 'org_cycle']);
    });

    it('refuses children of personal organizations, and unclean text', async () => {
      const personal = await app.world.org();
      await app.db.query('update orgs set is_personal = true where id = $1', [personal]);
      const refused = [
        [{ name: 'x', parent_id: personal }, '/parent_id'],
        [{ name: 'a\u0000b' }, '/name'],
        [{ name: { xx_: 'a' } }, '/name/xx_'],
        [{ name: 'a', description: 'a\u202Eb' }, '/description'],
        [{ name: 'a', parent_id: 'nonsense' }, '/parent_id'],
        [{ name: 'a', extra: 1 }, '/extra'],
        [{}, '/name'],
      ] as const;
      for (const [body, path] of refused) {
        const answer = await create(body);
        expect([...verdict(answer), answer.body.details?.[0]?.path]).toEqual([400, 'validation_error', path]);
      }
    });
  });

  describe('update', () => {
    it('keeps what is absent and clears what is null', async () => {
      const id = String((await create({ name: 'Old', description: 'Text' })).body.id);
      expect((await update(id, {})).body).toMatchObject({ name: { en: 'Old' }, description: 'Text' });
      expect((await update(id, { name: 'New' })).body).toMatchObject({ description: 'Text' });
      expect((await update(id, { description: null })).body).toMatchObject({
        name: { en: 'New' },
        description: null,
      });
      for (const body of [{ name: null }, { parent_id: null }, { name: '' }]) {
        expect(verdict(await update(id, body))).toEqual([400, 'validation_error']);
      }
      expect(await row(id)).toMatchObject({ name: { en: 'New' }, parent_id: rootOrgId });
    });

    it('writes one event that names the fields that changed, not those that were sent', async () => {
      const id = String((await create({ name: 'Old', description: 'Text' })).body.id);
      await update(id, { name: { en: 'Old' }, description: 'Other' });
      await update(id, { parent_id: rootOrgId });
      const details = (await events(id, 'org.updated')).map((event) => event.details);
      expect(details).toEqual([
        { resource_name: 'Old', changed: ['description'] },
        { resource_name: 'Old', changed: [] },
      ]);
    });

    it('needs orgs:update, and no more for an unchanged parent', async () => {
      const id = await app.world.org();
      expect(verdict(await update(id, { name: 'x' }, await keyWith(id, 'orgs:read')))).toEqual([
        403,
        'forbidden',
      ]);
      const editor = await keyWith(id, 'orgs:update');
      expect((await update(id, { name: 'x', parent_id: rootOrgId }, editor)).status).toBe(200);
    });
  });

  describe('move', () => {
    it('takes the subtree along, deleted organizations too, and changes who administers it', async () => {
      const [, from = '', moved = '', leaf = ''] = await chain(3);
      const [, to = ''] = await chain(1);
      const gone = await app.world.org({ parentId: leaf });
      await app.db.query('update orgs set deleted_at = now() where id = $1', [gone]);
      const oldAdmin = await keyWith(from, 'admin');
      const newAdmin = await keyWith(to, 'admin');
      const look = async (token: string) => (await app.request('GET', `/orgs/${leaf}`, { token })).status;
      expect([await look(oldAdmin), await look(newAdmin)]).toEqual([200, 404]);

      const answer = await update(moved, { parent_id: to });
      expect(answer.body).toMatchObject({ id: moved, parent_id: to });
      expect([await look(oldAdmin), await look(newAdmin)]).toEqual([404, 200]);
      expect(await row(moved)).toMatchObject({ path: [rootOrgId, to, moved] });
      expect(await row(leaf)).toMatchObject({ parent_id: moved, path: [rootOrgId, to, moved, leaf] });
      expect(await row(gone)).toMatchObject({ path: [rootOrgId, to, moved, leaf, gone] });
      const details = {
        resource_name: 'Org',
        changed: ['parent_id'],
        old_parent_id: from,
        new_parent_id: to,
      };
      expect(await events(moved, 'org.updated')).toMatchObject([{ org_id: moved, details }]);
    });

    it('makes cached decisions below it void', async () => {
      const [, moved = '', leaf = ''] = await chain(2);
      const [, to = ''] = await chain(1);
      const epoch = async () =>
        (await app.db.query<{ epoch: string }>('select epoch from org_epochs where org_id = $1', [leaf]))[0];
      const before = Number((await epoch())?.epoch);
      await update(moved, { parent_id: to });
      expect(Number((await epoch())?.epoch)).toBeGreaterThan(before);
    });

    it('refuses a place below itself', async () => {
      const [, top = '', leaf = ''] = await chain(2);
      expect(verdict(await update(top, { parent_id: leaf }))).toEqual([422, 'org_cycle']);
      expect(verdict(await update(top, { parent_id: top }))).toEqual([422, 'org_cycle']);
      expect(await row(top)).toMatchObject({ parent_id: rootOrgId, path: [rootOrgId, top] });
    });

    it('counts the whole subtree against the 16 levels', async () => {
      const [, top = ''] = await chain(3);
      const deep = await chain(14);
      expect(verdict(await update(top, { parent_id: deep.at(-2) }))).toEqual([422, 'org_cycle']);
      expect(verdict(await update(top, { parent_id: deep.at(-3) }))).toEqual([200, undefined]);
    });

    it('needs admin on the destination and on the organization itself', async () => {
      const [, parent = '', moved = '', below = ''] = await chain(3);
      const [, foreign = ''] = await chain(1);
      const admin = await keyWith(parent, 'admin');
      expect(verdict(await update(below, { parent_id: parent }, admin))).toEqual([200, undefined]);
      for (const destination of [foreign, ulid(), rootOrgId]) {
        expect(verdict(await update(moved, { parent_id: destination }, admin))).toEqual([404, 'not_found']);
      }
      const editor = await keyWith(moved, 'orgs:update');
      expect(verdict(await update(moved, { parent_id: foreign }, editor))).toEqual([403, 'forbidden']);
      expect(await row(moved)).toMatchObject({ parent_id: parent });
    });

    it('leaves nothing of a refused change behind', async () => {
      const id = String((await create({ name: 'Kept' })).body.id);
      expect(verdict(await update(id, { name: 'Lost', parent_id: ulid() }))).toEqual([404, 'not_found']);
      expect(await row(id)).toMatchObject({ name: { en: 'Kept' } });
      expect(await events(id, 'org.updated')).toEqual([]);
    });

    it('never moves the root organization, and puts nothing below a personal one', async () => {
      const [, id = ''] = await chain(1);
      expect(verdict(await update(rootOrgId, { parent_id: id }))).toEqual([403, 'forbidden']);
      const personal = await app.world.org();
      await app.db.query('update orgs set is_personal = true where id = $1', [personal]);
      expect(verdict(await update(id, { parent_id: personal }))).toEqual([400, 'validation_error']);
    });
  });
});
