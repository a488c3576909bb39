// A canary in every place of a secret: each slot of each provider, passwords, tokens. After all the usual work they are
// found in the one answer that is meant to show them and nowhere else: not in another answer, a log line or a dump.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '../src/db/migrate.ts';
import { createLogger } from '../src/kernel/logger.ts';
import type { ProviderDefinition } from '../src/providers/provider.ts';
import { providerDefinitions } from '../src/providers/registry.ts';
import { dumpTables, findCanaries, newCanary, type Sink } from './support/canary.ts';
import { type DebianPostgres, startDebianPostgres } from './support/peers/debian-postgres.ts';
import { createTenant, type Tenant } from './support/scenario-world.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { createTestDatabase, type TestDatabase } from './support/test-database.ts';
import { seedInstallation } from './support/test-world.ts';

interface Sent {
  readonly name: string;
  readonly text: string;
}

let postgres: DebianPostgres;
let database: TestDatabase;
let app: TestApp;
let tenant: Tenant;
let echo: Server;
let logs = '';
const answers: Sent[] = [];
const canaries = new Map<string, string>();
/** Canary → the start of the names of the answers that may show it. */
const sanctioned = new Map<string, string>();

beforeAll(async () => {
  postgres = await startDebianPostgres();
  database = await createTestDatabase(postgres.ownerUrl, 'template0');
  await migrate(database.url);
  await seedInstallation(database.url);
  const destination = {
    write: (line: string) => {
      logs += line;
    },
  };
  app = await startTestApp({
    database,
    logger: createLogger({ level: 'trace', destination }),
    onHttp: recordAnswers,
  });
  tenant = await createTenant(app, 'canary');
  echo = await startEcho();
});
afterAll(async () => {
  await app.close();
  echo.close();
  await database.drop();
  await postgres.stop();
});

function recordAnswers(http: FastifyInstance): void {
  http.addHook('onSend', async (request, reply, payload) => {
    const headers = JSON.stringify(reply.getHeaders());
    answers.push({ name: `${request.method} ${request.url}`, text: `${headers}\n${String(payload)}` });
    return payload;
  });
}

/** A far side that says back all it was told, in an error: whoever passes that on leaks. */
async function startEcho(): Promise<Server> {
  const server = createServer((request, response) => {
    response.writeHead(500, { 'x-echo': encodeURIComponent(JSON.stringify(request.headers)) });
    response.end(`${request.url} ${JSON.stringify(request.headers)}`);
    request.resume();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

const send = async (method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE', path: string, body?: unknown) =>
  app.request(method, path, {
    headers: { ...tenant.admin.headers },
    ...(body === undefined ? {} : { body }),
  });

function settingsOf({ manifest }: ProviderDefinition): Record<string, unknown> {
  const url = `http://127.0.0.1:${(echo.address() as AddressInfo).port}`;
  const known: Record<string, unknown> = {
    host: '127.0.0.1',
    port: 9,
    broker_host: '127.0.0.1',
    broker_port: 9,
    base_url: url,
    server_uri: url,
    phone: '15550001234',
    token_type: 'sms',
  };
  const members = Object.keys(manifest.config.properties);
  const config = Object.fromEntries(Object.entries(known).filter(([name]) => members.includes(name)));
  // One that speaks both is asked to speak to the echo.
  return manifest.type === 'tasmota' ? { transport: 'http', base_url: url } : config;
}

function secretsOf({ manifest }: ProviderDefinition): Record<string, string> {
  const slots = Object.entries(manifest.secrets.properties as Record<string, { pattern?: string }>);
  return Object.fromEntries(
    slots.map(([field, { pattern }]) => {
      // The one pattern there is: hexadecimal digits.
      const value = pattern === undefined ? newCanary(field) : randomBytes(16).toString('hex');
      canaries.set(`${manifest.type}.${field}`, value);
      return [field, value];
    }),
  );
}

const withSecrets = [...providerDefinitions].filter(
  ([, { manifest }]) => Object.keys(manifest.secrets.properties).length > 0,
);

async function placeDoor(type: string, integrationId: string): Promise<string | null> {
  const device = await send('POST', '/devices', {
    org_id: tenant.orgId,
    integration_id: integrationId,
    name: 'Device',
    ...(['palgate_cloud', 'shelly_cloud'].includes(type) ? { external_id: 'device1' } : {}),
    ...(type === 'tasmota' ? { device_metadata: { topic: 'door' } } : {}),
  });
  const metadata: Record<string, Record<string, string>> = {
    mqtt: { command_topic: 'door/set' },
    waveshare: { channel_index: '1' },
  };
  const entity = await send('POST', '/entities', {
    org_id: tenant.orgId,
    device_id: device.body.id,
    name: 'Door',
    entity_type: 'door',
    ...(type === 'homeassistant' ? { external_id: 'switch.door' } : {}),
    ...(metadata[type] === undefined ? {} : { entity_metadata: metadata[type] }),
  });
  return typeof entity.body.id === 'string' ? entity.body.id : null;
}

/** What people do with an integration, the mistakes included. */
async function live(type: string, definition: ProviderDefinition): Promise<void> {
  const secrets = secretsOf(definition);
  const create = { org_id: tenant.orgId, provider_type: type, config: settingsOf(definition) };
  expect(
    (await send('POST', '/integrations', { ...create, secrets: { ...secrets, unheard_of: 'x' } })).status,
  ).toBe(400);
  const [[field = '', value = ''] = []] = Object.entries(secrets);
  await send('POST', '/integrations', { ...create, config: { ...create.config, [field]: 1 }, secrets });
  await send('POST', '/integrations', { ...create, secrets: { [field]: value.repeat(200) } });
  const created = await send('POST', '/integrations', { ...create, secrets });
  expect(created.status, created.text).toBe(201);
  const path = `/integrations/${String(created.body.id)}`;
  const door = await placeDoor(type, String(created.body.id));
  if (door !== null) {
    await send('POST', `/entities/${door}/actions/switchable.open`, {});
    await send('POST', `/entities/${door}/actions/switchable.open/preview`, {});
  }
  await send('PATCH', path, { name: 'Renamed' });
  await send('PATCH', path, { secrets: { unheard_of: value } });
  for (const below of ['', '/ops', '/discovered-devices', '/entities', '/zones', '/device-metadata-schema'])
    await send('GET', `${path}${below}`);
  const shown = await send('GET', `${path}/secrets`);
  expect(shown.body).toEqual(secrets);
  for (const name of Object.keys(secrets)) sanctioned.set(`${type}.${name}`, `GET /api/v1${path}/secrets`);
  await send('DELETE', `${path}?recursive=true`);
  await send('POST', `${path}/restore`);
}

async function livePeople(): Promise<void> {
  const password = newCanary('password');
  canaries.set('password', password);
  const email = 'canary@people.test';
  const roles = { [tenant.orgId]: ['entities:list'] };
  const created = await send('POST', '/users', { name: 'Canary', email, password, roles });
  expect(created.status, created.text).toBe(201);
  const flow = await app.app.http.inject('/identity/self-service/login/api');
  const login = (text: string) =>
    app.app.http.inject({
      method: 'POST',
      url: `/identity/self-service/login?flow=${flow.json<{ id: string }>().id}`,
      payload: { method: 'password', identifier: email, password: text },
    });
  expect((await login(`${password}!`)).statusCode).toBe(400);
  const session = (await login(password)).json<{ session_token: string }>();
  canaries.set('session', session.session_token);
  sanctioned.set('session', 'POST /identity/self-service/login');
  await app.request('GET', '/me', { token: session.session_token });
  await send('GET', `/users/${String(created.body.id)}`);
}

async function liveKeys(): Promise<void> {
  const created = await send('POST', '/api-keys', {
    name: 'Canary',
    scoped_roles: ['entities:list'],
    expires_in: '1h',
  });
  expect(created.status, created.text).toBe(201);
  const token = Object.values(created.body).find(
    (each): each is string => typeof each === 'string' && each.includes('_service_'),
  );
  canaries.set('api key', token?.slice(-40) ?? '');
  sanctioned.set('api key', 'POST /api/v1/api-keys');
  await app.request('GET', '/entities', { token: token ?? '', org: tenant.orgId });
  await app.request('GET', '/users', { token: token ?? '', org: tenant.orgId });
  await send('GET', '/api-keys');
  await send('DELETE', `/api-keys/${String(created.body.id)}`);
  expect((await app.request('GET', '/entities', { token: token ?? '' })).status).toBe(401);
}

/** Every answer with the canaries it may not show. */
function leakedInAnswers(): string[] {
  return answers.flatMap((answer) => {
    const forbidden = [...canaries].filter(([name]) => {
      const place = sanctioned.get(name);
      return place === undefined || !answer.name.startsWith(place);
    });
    return findCanaries([answer], new Map(forbidden));
  });
}

describe('a secret', () => {
  it('is found in the answer that is meant to show it, and nowhere else', async () => {
    expect(withSecrets.length).toBeGreaterThanOrEqual(6);
    for (const [type, definition] of withSecrets) await live(type, definition);
    await livePeople();
    await liveKeys();
    await send('GET', `/orgs/${tenant.orgId}/audit/events?limit=100`);
    await send('GET', '/integrations?include_deleted=true');
    expect(canaries.size).toBeGreaterThanOrEqual(12);
    expect([...canaries.values()].filter((value) => value.length < 16)).toEqual([]);

    expect(leakedInAnswers()).toEqual([]);
    expect(logs.length).toBeGreaterThan(1000);
    expect(findCanaries([{ name: 'log', text: logs }], canaries)).toEqual([]);
    expect(findCanaries(await dumpTables(database), canaries)).toEqual([]);
    const dump = await postgres.dump(database.url);
    expect(dump).toContain('CREATE TABLE');
    expect(dump).toContain(tenant.marker);
    expect(findCanaries([{ name: 'pg_dump', text: dump }], canaries)).toEqual([]);
  });

  it('would be found where it leaks, in every form', async () => {
    const value = canaries.get('mqtt.password') ?? '';
    const only = new Map([['it', value]]);
    const inside = (text: string): Sink[] => [{ name: 'sink', text: `before ${text} after` }];
    for (const text of [
      value,
      JSON.stringify({ a: value }),
      `https://x/?k=${encodeURIComponent(value)}`,
      new URLSearchParams({ k: value }).toString(),
      Buffer.from(value).toString('hex').toUpperCase(),
      Buffer.from(value).toString('base64'),
      Buffer.from(`user:${value}`).toString('base64'),
      Buffer.from(`admin:${value}@host`).toString('base64url'),
      Buffer.from(`u:${value}`).toString('base64url'),
    ])
      expect(findCanaries(inside(text), only).length, text).toBeGreaterThan(0);
    expect(findCanaries(inside('nothing'), only)).toEqual([]);
  });

  it('would be found in a log line, an answer, a row and an event', async () => {
    const value = canaries.get('mqtt.password') ?? '';
    const only = new Map([['it', value]]);
    app.app.http.log.info({ reason: `could not connect with ${value}` });
    expect(findCanaries([{ name: 'log', text: logs }], only)).not.toEqual([]);
    await database.query('update devices set device_metadata = $1 where org_id = $2', [
      { note: value },
      tenant.orgId,
    ]);
    await database.query(
      `update audit_events set details = jsonb_build_object('note', encode(convert_to($1, 'UTF8'), 'base64')) where org_id = $2`,
      [value, tenant.orgId],
    );
    const tables = findCanaries(await dumpTables(database), only);
    expect(tables.filter((line) => line.startsWith('table public.devices'))).not.toEqual([]);
    expect(tables.filter((line) => line.startsWith('table public.audit_events'))).not.toEqual([]);
    expect(findCanaries([{ name: 'pg_dump', text: await postgres.dump(database.url) }], only)).not.toEqual(
      [],
    );
    await send('GET', '/devices?include_deleted=true');
    expect(leakedInAnswers()).not.toEqual([]);
  });
});
