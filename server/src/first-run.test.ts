import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../test/support/test-database.ts';
import { readConfig } from './config.ts';
import { migrate } from './db/migrate.ts';
import { demoEntities } from './demo-building.ts';
import { prepareInstallation, type ReadyInstallation } from './first-run.ts';
import { systemClock } from './kernel/clock.ts';
import { withDatabase } from './startup-database.ts';

describe('the first run', () => {
  let database: TestDatabase;
  let dataDir: string;

  beforeEach(async () => {
    database = await createTestDatabase(inject('ownerUrl'), 'template0');
    await migrate(database.url);
    dataDir = mkdtempSync(join(tmpdir(), 'lintel-first-run-'));
  });
  afterEach(async () => {
    await database.drop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const start = (
    env: Record<string, string> = {},
    { wantsSignInLink = false } = {},
  ): Promise<ReadyInstallation> => {
    const config = readConfig({ LINTEL_DATA_DIR: dataDir, ...env });
    return withDatabase(database.url, (db) =>
      prepareInstallation({ config, db, clock: systemClock, wantsSignInLink }),
    );
  };
  const count = async (table: string): Promise<number> => {
    const [row] = await database.query<{ n: string }>(`select count(*) as n from ${table}`);
    return Number(row?.n);
  };

  it('makes the platform, its administrator and a building that hangs together', async () => {
    const made = await start();
    expect(made.adminEmail).toBe('admin@lintel.local');
    expect(Object.keys(made.demo)).toEqual(demoEntities.map(({ key }) => key));
    const entities = await database.query<{ path: string }>(
      `select concat_ws(' / ', o.name ->> 'en', i.name ->> 'en', d.name ->> 'en', e.name, z.name ->> 'en', s.name ->> 'en') as path
       from entities e join devices d on d.id = e.device_id join integrations i on i.id = d.integration_id
       join orgs o on o.id = e.org_id join zones z on z.id = e.zone_id join zones s on s.id = z.parent_zone_id
       where i.config = '{"auto_close_seconds": 5}' and o.parent_id = $1 order by e.id`,
      [made.rootOrgId],
    );
    expect(entities).toHaveLength(6);
    expect(entities[0]?.path).toBe(
      'Maple Court / Maple Court doors / Entrance controller / Front door / Ground floor / Maple Court',
    );
    const roles = await database.query<{ name: string; roles: string[] }>(
      `select u.name ->> 'en' as name, array_agg(g.role) as roles from users u join role_grants g on g.user_id = u.id
       where g.org_id = $1 group by u.id order by u.id`,
      [made.homeOrgId],
    );
    expect(roles.map(({ name }) => name)).toEqual([
      'Mara Lindqvist',
      'Tomás Navarro',
      'Aisha Rahman',
      'Jonas Weber',
    ]);
    for (const person of roles) expect(person.roles).toContain('entities:set_state');
    expect(roles.flatMap((person) => person.roles)).not.toContain('admin');
  });

  it('tells each creation once, as the system, in the day’s own partition', async () => {
    await start();
    const events = await database.query<{ event_type: string; n: number; resources: number }>(
      `select event_type, count(*)::int as n, count(distinct resource_id)::int as resources from audit_events
       where source = 'system' and actor_kind = 'system' and correlation_id is not null group by 1 order by 1`,
    );
    const expected = { api_key: 1, device: 4, entity: 6, integration: 1, org: 2, user: 5, zone: 5 };
    expect(events).toEqual(
      Object.entries(expected).map(([noun, n]) => ({ event_type: `${noun}.created`, n, resources: n })),
    );
    expect(await count('audit_events')).toBe(24);
    expect(await count('audit_events_default')).toBe(0);
  });

  it('happens once: a second start finds everything and shows no secret', async () => {
    const first = await start();
    const second = await start();
    expect(first.apiKey).toMatch(/^http:\/\/localhost:8080\/api\/v1_service_/);
    expect(first.signInUrl).toMatch(/^http:\/\/localhost:8080\/identity\/sign-in\?code=/);
    expect(second).toEqual({ ...first, apiKey: null, signInUrl: null });
    expect(await count('users')).toBe(5);
  });

  it('happens once when nodes with a shared pepper start together', async () => {
    const nodes = await Promise.all([1, 2, 3, 4].map(() => start({ LINTEL_PEPPER: 'shared' })));
    expect(nodes.filter(({ apiKey }) => apiKey !== null)).toHaveLength(1);
    expect(new Set(nodes.map(({ rootOrgId }) => rootOrgId)).size).toBe(1);
    expect(await count('installation')).toBe(1);
    expect(await count('orgs')).toBe(2);
  });

  it('leaves a node with another pepper, or none, outside', async () => {
    await start({ LINTEL_PEPPER: 'the first' });
    await expect(start({ LINTEL_PEPPER: 'another' })).rejects.toThrow(/another pepper/);
    await expect(start()).rejects.toThrow(/lacks its pepper/);
  });

  it('without the demo leaves an empty platform with a key to it', async () => {
    const made = await start({ LINTEL_DEMO: 'false', LINTEL_ADMIN_EMAIL: 'Chief@Example.org' });
    expect(made).toMatchObject({ homeOrgId: made.rootOrgId, demo: {}, adminEmail: 'chief@example.org' });
    expect(made.apiKey).not.toBeNull();
    expect([await count('orgs'), await count('users'), await count('entities')]).toEqual([1, 1, 0]);
  });

  it('makes another sign-in link when asked', async () => {
    const first = await start();
    const again = await start({}, { wantsSignInLink: true });
    expect(again.signInUrl).toMatch(/\/identity\/sign-in\?code=/);
    expect(again.signInUrl).not.toBe(first.signInUrl);
    expect(again.apiKey).toBeNull();
    expect(await count('identity.identities')).toBe(1);
  });

  it('makes no link where an external provider signs people in', async () => {
    const env = { IDENTITY_URL: 'https://id.example.org' };
    expect((await start(env)).signInUrl).toBeNull();
    expect((await start(env, { wantsSignInLink: true })).signInUrl).toBeNull();
    // And back: the administrator, whom the built-in provider has never seen, gets an identity with the link.
    expect((await start({}, { wantsSignInLink: true })).signInUrl).not.toBeNull();
  });

  it('reports what is left of the demo building', async () => {
    const { demo } = await start();
    await database.query('update entities set deleted_at = now() where id = $1', [demo.gate]);
    const { gate: _gone, ...left } = demo;
    expect((await start()).demo).toEqual(left);
  });

  it('that fails half-way leaves nothing behind', async () => {
    await database.query("alter table installation add constraint refuse check (root_org_id = '')");
    await expect(start()).rejects.toThrow(/refuse/);
    expect([await count('orgs'), await count('users'), await count('audit_events')]).toEqual([0, 0, 0]);
    await database.query('alter table installation drop constraint refuse');
    expect((await start()).apiKey).not.toBeNull();
  });
});
