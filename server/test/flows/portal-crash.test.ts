import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type ApiClient, createClient } from '@lintel/contract/client';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { freePort } from '../support/peers/free-port.ts';
import { demoCommands } from '../support/portal-site.ts';
import { type ServiceProcess, startService } from '../support/service-process.ts';
import { makeTestDir } from '../support/test-cluster.ts';

const soon = { timeout: 60_000, interval: 100 };

/** Whoever writes down a part of a command waits for a lock that the test holds. */
const waitingParts = `
  create function wait_here() returns trigger language plpgsql as $$
  begin
    perform pg_advisory_xact_lock(4711);
    return new;
  end $$;
  create trigger wait_here before insert on intents for each row
    when (new.details ? 'part_of') execute function wait_here();`;

interface Portal {
  readonly portal: string;
  readonly opener: string;
}

describe('kill -9 during the open of a portal', () => {
  let dataDir: string;
  let env: Record<string, string>;
  let service: ServiceProcess;
  let token: string;
  let db: pg.Client;

  beforeAll(async () => {
    dataDir = makeTestDir();
    env = { LINTEL_DATA_DIR: dataDir, PORT: String(await freePort()), HOST: '127.0.0.1' };
    service = await startService(env);
    token = service.ready.api_key ?? '';
    db = await embeddedDatabase(dataDir);
  });
  afterAll(async () => {
    await db.end();
    await service.end('SIGTERM');
    await rm(dataDir, { recursive: true, force: true });
  });

  const client = () => createClient({ baseUrl: service.ready.api_base, token });
  const open = (entityId: string) =>
    client()('execute_entity_action', { params: { id: entityId, action_id: 'switchable.open' }, body: {} });
  const states = async (ids: Portal) => {
    const text = `select entity_id, state, correlation_id from intents where entity_id = any ($1) order by created_at, id`;
    const { rows } = await db.query(text, [[ids.portal, ids.opener]]);
    return rows as { entity_id: string; state: string; correlation_id: string }[];
  };
  const events = async (ids: Portal) => {
    const text = `select resource_id, outcome, correlation_id from audit_events
      where event_type = 'entity.action' and resource_id = any ($1) order by occurred_at, id`;
    const { rows } = await db.query(text, [[ids.portal, ids.opener]]);
    return rows as { resource_id: string; outcome: string; correlation_id: string }[];
  };

  /** What the killed service has asked of the database must not be done when the test lets go of its locks. */
  const endConnections = async () => {
    const others = `select pid from pg_stat_activity
      where backend_type = 'client backend' and pid <> pg_backend_pid()`;
    await vi.waitFor(async () => {
      // Within a transaction the list stays as it was first seen.
      await db.query('select pg_stat_clear_snapshot()');
      const left = await db.query(`select pg_terminate_backend(pid) from (${others}) as others`);
      expect(left.rows).toHaveLength(0);
    }, soon);
  };

  it('between the portal and its opener: nothing is sent, then or later, and the open is unknown', async () => {
    const ids = await createPortal(client(), service.ready.org_id, {});
    await open(ids.portal);
    const before = await events(ids);
    expect(before).toHaveLength(2);

    await db.query(waitingParts);
    await db.query('begin');
    await db.query('select pg_advisory_xact_lock(4711)');
    const lost = open(ids.portal).catch(() => null);
    const isWaiting = `select pid from pg_locks where locktype = 'advisory' and objid = 4711 and not granted`;
    await vi.waitFor(async () => expect((await db.query(isWaiting)).rows).toHaveLength(1), soon);
    // It must not give the wait up while the test looks.
    void service.end('SIGSTOP');
    expect((await states(ids)).at(-1)).toMatchObject({ entity_id: ids.portal, state: 'dispatching' });
    await service.end('SIGKILL');
    await lost;
    await endConnections();
    await db.query('rollback');
    await db.query('drop function wait_here cascade');

    service = await startService(env);
    await vi.waitFor(async () => expect(await events(ids)).toHaveLength(3), soon);
    expect((await events(ids)).at(-1)).toMatchObject({ resource_id: ids.portal, outcome: 'unknown' });
    expect(await demoCommands(dataDir, ids.opener)).toEqual(['open']);
  });

  it('while the opener has the command: both are unknown, under one correlation id, and it is not sent again', async () => {
    const ids = await createPortal(client(), service.ready.org_id, { latency_ms: 4_000 });
    // Whenever the kill comes: no outcome is written down before it.
    await db.query('begin');
    await db.query('lock table audit_events in share mode');
    const lost = open(ids.portal).catch(() => null);
    await vi.waitFor(async () => expect(await demoCommands(dataDir, ids.opener)).toEqual(['open']), soon);
    await service.end('SIGKILL');
    await lost;
    await endConnections();
    await db.query('rollback');
    expect((await states(ids)).map(({ state }) => state)).toEqual(['dispatching', 'dispatching']);

    service = await startService(env);
    await vi.waitFor(async () => expect(await events(ids)).toHaveLength(2), soon);
    const found = await events(ids);
    expect(found.map(({ outcome }) => outcome)).toEqual(['unknown', 'unknown']);
    expect(new Set(found.map(({ correlation_id }) => correlation_id)).size).toBe(1);
    expect(new Set(found.map(({ resource_id }) => resource_id))).toEqual(new Set([ids.portal, ids.opener]));
    expect(await demoCommands(dataDir, ids.opener)).toEqual(['open']);
  });
});

async function createPortal(api: ApiClient, orgId: string, config: Record<string, unknown>): Promise<Portal> {
  const door = async (
    provider_type: string,
    settings: Record<string, unknown>,
    device_metadata: Record<string, unknown>,
  ) => {
    const name = { en: provider_type };
    const integration = await api('create_integration', {
      body: { org_id: orgId, provider_type, name, config: settings },
    });
    const device = await api('create_device', {
      body: { org_id: orgId, integration_id: integration.id, name, device_metadata },
    });
    return (await api('create_entity', { body: { device_id: device.id, entity_type: 'door' } })).id;
  };
  const opener = await door('virtual_demo', config, {});
  const openers = [{ entity_id: opener }];
  const metadata = { kind: 'virtual_access_portal', virtual_access: { openers } };
  return { opener, portal: await door('virtual_access', {}, metadata) };
}

async function embeddedDatabase(dataDir: string): Promise<pg.Client> {
  const password = (await readFile(join(dataDir, 'postgres-password'), 'utf8')).trim();
  const port = (await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[3];
  const client = new pg.Client({
    connectionString: `postgresql://lintel_owner:${encodeURIComponent(password)}@127.0.0.1:${port}/lintel`,
  });
  await client.connect();
  return client;
}
