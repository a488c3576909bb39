import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { rootAdminId, rootOrgId } from '../../../test/support/test-world.ts';
import { ulid } from '../../kernel/ulid.ts';

let app: TestApp;
let platform: string;
let orgId: string;
let belowId: string;
let elsewhereId: string;
let admin: string;
let clerk: string;
const ids: Record<string, string> = {};

beforeAll(async () => {
  app = await startTestApp();
  platform = (await app.world.key(rootOrgId, rootAdminId)).token;
  orgId = await app.world.org();
  belowId = await app.world.org({ parentId: orgId });
  elsewhereId = await app.world.org();
  const person = async (name: string, where: string, ...roles: string[]) => {
    ids[name] = await app.world.user({ name, email: `${name.toLowerCase()}@people.test` });
    await app.world.grant(where, ids[name], ...roles);
    return (await app.world.key(where, ids[name])).token;
  };
  admin = await person('Boss', orgId, 'admin');
  clerk = await person('Clerk', orgId, 'users:list', 'users:read');
  await person('Hundred%_', orgId, 'zones:list');
  await person('Below', belowId, 'zones:list');
  await person('Elsewhere', elsewhereId, 'zones:list');
  await person('Both', orgId, 'zones:list');
  await app.world.grant(elsewhereId, ids.Both ?? '', 'execute');
  await app.world.grant(belowId, ids.Both ?? '', 'execute');
  ids.Nowhere = await app.world.user({ name: 'Nowhere', email: 'nowhere@people.test' });
});
afterAll(() => app.close());

const idOf = (name: string): string => ids[name] ?? '';
const names = (answer: { body: Record<string, unknown> }) => {
  const items = answer.body.items as { id: string }[];
  return items.map(({ id }) => Object.keys(ids).find((name) => ids[name] === id) ?? id);
};
const get = (token: string, path: string, org?: string) =>
  app.request('GET', path, org === undefined ? { token } : { token, org });

describe('reading a user', () => {
  it('shows the roles in reach only: one organization, or the subtree for its administrator', async () => {
    const both = `/users/${idOf('Both')}`;
    expect((await get(clerk, both)).body.roles).toEqual({ [orgId]: ['zones:list'] });
    expect((await get(admin, both)).body.roles).toEqual({ [orgId]: ['zones:list'], [belowId]: ['execute'] });
    expect((await get(admin, both, belowId)).body.roles).toEqual({ [belowId]: ['execute'] });
    expect(Object.keys((await get(platform, both)).body.roles as object)).toHaveLength(3);
  });

  it('finds people below for an administrator only', async () => {
    expect((await get(admin, `/users/${idOf('Below')}`)).status).toBe(200);
    expect((await get(clerk, `/users/${idOf('Below')}`)).status).toBe(404);
  });

  it('answers for a stranger as for nobody, whatever is tried', async () => {
    const paths = [idOf('Elsewhere'), idOf('Nowhere'), ulid(), 'no-ulid'];
    for (const [method, suffix, body] of [
      ['GET', '', undefined],
      ['GET', '?include_deleted=true', undefined],
      ['PUT', '', { name: 'x' }],
      ['DELETE', '', undefined],
      ['POST', '/restore', undefined],
      ['DELETE', '/purge', undefined],
      ['POST', '/roles', { roles: ['zones:list'] }],
      ['DELETE', '/roles', { roles: ['zones:list'] }],
    ] as const) {
      const answers = await Promise.all(
        paths.map((id) => app.request(method, `/users/${id}${suffix}`, { token: admin, body })),
      );
      const bodies = answers.map(({ status, body: { correlationId: _, ...rest } }) => ({ status, ...rest }));
      expect(new Set(bodies.map((answer) => JSON.stringify(answer))).size, `${method} ${suffix}`).toBe(1);
      expect(bodies[0]).toMatchObject({ status: 404, code: 'not_found' });
    }
  });

  it('needs a role in the organization named', async () => {
    expect((await get(admin, `/users/${idOf('Elsewhere')}`, elsewhereId)).status).toBe(403);
    const bystander = (await app.world.key(orgId, idOf('Both'))).token;
    expect((await get(bystander, `/users/${idOf('Boss')}`)).status).toBe(403);
  });
});

describe('listing the users of an organization', () => {
  it('lists members, with those below on demand and for administrators', async () => {
    expect(names(await get(clerk, `/orgs/${orgId}/users`))).toEqual(['Boss', 'Clerk', 'Hundred%_', 'Both']);
    const recursive = await get(admin, `/orgs/${orgId}/users?recursive=true`);
    expect(names(recursive)).toEqual(['Boss', 'Clerk', 'Hundred%_', 'Below', 'Both']);
    expect(recursive.body.total).toBe(5);
    expect((await get(clerk, `/orgs/${orgId}/users?recursive=true`)).status).toBe(403);
    expect((await get(admin, `/orgs/${elsewhereId}/users`)).status).toBe(404);
  });

  it('pages, and hides the deleted unless asked', async () => {
    const page = await get(admin, `/orgs/${orgId}/users?limit=1&offset=1`);
    expect([names(page), page.body.total]).toEqual([['Clerk'], 4]);
    await app.db.query('update users set deleted_at = now() where id = $1', [idOf('Clerk')]);
    const list = async (query: string) => names(await get(admin, `/orgs/${orgId}/users?${query}`));
    expect(await list('')).not.toContain('Clerk');
    expect(await list('include_deleted=true')).toContain('Clerk');
    expect(await list('only_deleted=true')).toEqual(['Clerk']);
    await app.db.query('update users set deleted_at = null where id = $1', [idOf('Clerk')]);
  });
});

describe('searching users', () => {
  const search = (token: string, query: string) => get(token, `/users/search?${query}`);

  it('matches part of a name or address, with nothing in it special', async () => {
    expect(names(await search(admin, 'q=LER'))).toEqual(['Clerk']);
    expect(names(await search(admin, 'q=boss%40people'))).toEqual(['Boss']);
    expect(names(await search(admin, `q=${encodeURIComponent('d%_')}`))).toEqual(['Hundred%_']);
    expect(names(await search(admin, `q=${encodeURIComponent('%')}`))).toEqual(['Hundred%_']);
    expect(names(await search(admin, `q=${encodeURIComponent('\\')}`))).toEqual([]);
    expect(names(await search(admin, 'q=%20'))).toHaveLength(5);
  });

  it('leaves out whom it is told to', async () => {
    const query = `exclude_ids=${idOf('Boss')},%20${idOf('Both')},nonsense`;
    expect(names(await search(admin, query))).toEqual(['Clerk', 'Hundred%_', 'Below']);
  });

  it('stays within the reach of the caller', async () => {
    expect(names(await search(clerk, 'q=people.test'))).toEqual(['Boss', 'Clerk', 'Hundred%_', 'Both']);
    expect(names(await search(admin, `org_id=${belowId}`))).toEqual(['Below', 'Both']);
    const foreign = await search(admin, `org_id=${elsewhereId}`);
    const absent = await search(admin, `org_id=${ulid()}`);
    const malformed = await search(admin, 'org_id=no-ulid');
    expect(foreign.status).toBe(403);
    expect(foreign.body.message).toBe(absent.body.message);
    expect(malformed.body.message).toBe(absent.body.message);
    expect((await search(clerk, `org_id=${belowId}`)).status).toBe(403);
  });

  it('goes over everybody for those who may list the users of the root organization', async () => {
    expect((await search(admin, 'scope=all')).status).toBe(403);
    const registrar = await app.world.user();
    await app.world.grant(rootOrgId, registrar, 'users:list');
    const { token } = await app.world.key(rootOrgId, registrar);
    expect(names(await search(token, 'scope=all&q=people.test'))).toHaveLength(Object.keys(ids).length);
    expect(names(await search(token, `scope=all&org_id=${elsewhereId}`))).toEqual(['Elsewhere', 'Both']);
    expect(names(await search(token, ''))).toEqual([rootAdminId, registrar]);
  });

  it('refuses text that no name can hold', async () => {
    expect((await search(admin, 'q=a%00b')).status).toBe(400);
    expect((await search(admin, 'scope=everything')).status).toBe(400);
  });
});
