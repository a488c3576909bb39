// A canary in every secret slot comes out in one answer and nowhere else.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lockedProvider } from '../../../test/support/locked-provider.ts';
import { type Answer, startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { rootAdminId } from '../../../test/support/test-world.ts';
import { createLogger } from '../../kernel/logger.ts';
import { generateToken } from '../../kernel/secret.ts';

/** As text would carry them: plain, in base64 and hexadecimal at any offset, and escaped for an address. */
function disguises(canary: string): string[] {
  const shifted = [0, 1, 2].map((pad) =>
    Buffer.concat([Buffer.alloc(pad), Buffer.from(canary)])
      .toString('base64')
      .slice(4, -4),
  );
  return [canary, Buffer.from(canary).toString('hex'), encodeURIComponent(canary), ...shifted];
}

describe('secrets of integrations', () => {
  let app: TestApp;
  let orgId: string;
  let token: string;
  const logged: string[] = [];
  const answers: Answer[] = [];
  const canaries: string[] = [];
  const canary = () => {
    const value = `canary ${generateToken(12)}`;
    canaries.push(value);
    return value;
  };

  beforeAll(async () => {
    const destination = { write: (line: string) => void logged.push(line) };
    app = await startTestApp({
      providerDefinitions: new Map([['locked', lockedProvider()]]),
      logger: createLogger({ level: 'trace', destination }),
    });
    orgId = await app.world.org();
    token = (await app.world.key(orgId, rootAdminId)).token;
  });
  afterAll(() => app.close());

  const send = async (
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: unknown,
    as = token,
  ) => {
    const answer = await app.request(method, path, { token: as, ...(body === undefined ? {} : { body }) });
    answers.push(answer);
    return answer;
  };
  const leaks = (text: string) =>
    canaries.flatMap((value) => disguises(value)).filter((disguise) => text.includes(disguise));

  it('come out in the one answer that is for them, with an event that names the fields only', async () => {
    const config = { base_url: 'http://hub.test' };
    const first = { token: canary(), user: canary() };
    const made = await send('POST', '/integrations', {
      provider_type: 'locked',
      config,
      secrets: first,
    });
    const id = String(made.body.id);
    const shown = await app.request('GET', `/integrations/${id}/secrets`, { token });
    expect([shown.status, shown.body]).toEqual([200, first]);
    expect(shown.headers['cache-control']).toBe('no-store');
    const second = { token: canary() };
    await send('PUT', `/integrations/${id}`, { secrets: second });
    expect((await app.request('GET', `/integrations/${id}/secrets`, { token })).body).toEqual(second);
    const events = await app.db.query<{ details: object; actor_user_id: string }>(
      `select details, actor_user_id from audit_events where event_type = 'integration.secrets_read' order by id`,
    );
    expect(events).toEqual([
      { details: { fields: ['token', 'user'], resource_name: 'Locked' }, actor_user_id: rootAdminId },
      { details: { fields: ['token'], resource_name: 'Locked' }, actor_user_id: rootAdminId },
    ]);
  });

  it('are refused without the role, which is a role of its own', async () => {
    const [{ id } = { id: '' }] = await app.db.query<{ id: string }>('select id from integrations limit 1');
    const roles = ['integrations:read', 'integrations:update', 'integrations:list', 'integrations:delete'];
    const editor = (await app.world.key(orgId, rootAdminId, { scopedRoles: roles })).token;
    expect((await send('GET', `/integrations/${id}/secrets`, undefined, editor)).status).toBe(403);
    expect((await send('GET', `/integrations/${id}`, undefined, editor)).status).toBe(200);
    const reader = (await app.world.key(orgId, rootAdminId, { scopedRoles: ['integrations:secrets'] })).token;
    expect((await app.request('GET', `/integrations/${id}/secrets`, { token: reader })).status).toBe(200);
  });

  it('are no part of any refusal, also when they do not fit or can not be read', async () => {
    const config = { base_url: 'http://hub.test' };
    const body = { provider_type: 'locked', config };
    await send('POST', '/integrations', { ...body, secrets: { token: canary(), pin: canary() } });
    await send('POST', '/integrations', { ...body, secrets: { token: [canary()] } });
    await send('POST', '/integrations', { ...body, secrets: canary() });
    await send('POST', '/integrations', { ...body, provider_type: 'none', secrets: { token: canary() } });
    expect(answers.slice(-4).map(({ status }) => status)).toEqual([400, 400, 400, 400]);
    const made = await send('POST', '/integrations', { ...body, secrets: { token: canary() } });
    const id = String(made.body.id);
    await app.db.query(
      `update secrets.secret_values set ciphertext = ciphertext || '\\x00' where integration_id = $1`,
      [id],
    );
    const broken = await send('GET', `/integrations/${id}/secrets`);
    expect([broken.status, broken.body.code]).toEqual([500, 'internal_error']);
    const events = await app.db.query(
      `select id from audit_events where event_type = 'integration.secrets_read' and resource_id = $1`,
      [id],
    );
    expect(events).toEqual([]);
    await send('DELETE', `/integrations/${id}`);
    await send('POST', `/integrations/${id}/restore`);
    await send('DELETE', `/integrations/${id}/purge`);
  });

  it('are found in no other answer, in no log line and in no row of the database', async () => {
    await send('GET', '/integrations?include_deleted=true');
    await send('GET', `/orgs/${orgId}/audit-events`);
    await send('GET', '/integrations/provider-types/locked/definition');
    expect(canaries.length).toBeGreaterThan(6);
    expect(answers.length).toBeGreaterThan(10);
    expect(answers.filter(({ text }) => leaks(text).length > 0)).toEqual([]);
    expect(logged.join('')).toContain('"level"');
    expect(leaks(logged.join(''))).toEqual([]);
    const tables = await app.db.query<{ name: string }>(
      `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname in ('public', 'identity', 'secrets') and c.relkind in ('r', 'p')`,
    );
    expect(tables.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['integrations', 'audit_events', 'secrets.secret_values']),
    );
    for (const { name } of tables) {
      const rows = await app.db.query<{ text: string }>(`select t::text as text from ${name} t`);
      expect([name, leaks(rows.map(({ text }) => text).join('\n'))]).toEqual([name, []]);
    }
  });

  it('would be found if they were there', () => {
    const [value = ''] = canaries;
    for (const text of [
      `x${value}y`,
      Buffer.from(value).toString('hex'),
      Buffer.from(`{"a":"${value}"}`).toString('base64'),
      Buffer.from(`ab${value}`).toString('base64'),
      encodeURIComponent(value),
    ])
      expect(leaks(text).length, text).toBeGreaterThan(0);
  });
});
