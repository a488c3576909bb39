import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuditRecord } from '@lintel/contract/audit';
import { type ApiClient, createClient } from '@lintel/contract/client';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commandViolations, type LoggedCommand } from '../support/command-oracle.ts';
import { freePort, type ServiceProcess, startService } from '../support/service-process.ts';
import { makeTestDir } from '../support/test-cluster.ts';

describe('kill -9 during opens', () => {
  let dataDir: string;
  let env: Record<string, string>;
  let service: ServiceProcess;

  beforeAll(async () => {
    dataDir = makeTestDir();
    env = { LINTEL_DATA_DIR: dataDir, PORT: String(await freePort()), HOST: '127.0.0.1' };
    service = await startService(env);
  });
  afterAll(async () => {
    await service.end('SIGTERM');
    await rm(dataDir, { recursive: true, force: true });
  });

  it('leaves every command the device logged with exactly one event, and sends none again', async () => {
    const token = service.ready.api_key ?? '';
    const door = service.ready.demo.front_door ?? '';
    const orgId = service.ready.org_id;
    const api = createClient({ baseUrl: service.ready.api_base, token });
    const answered = await openUntilKilled(api, door, () => service.end('SIGKILL'));
    const logged = await deviceLog(dataDir);

    service = await startService(env);
    const events = await waitForOutcomes(
      createClient({ baseUrl: service.ready.api_base, token }),
      orgId,
      logged,
    );

    expect(logged.length).toBeGreaterThan(10);
    expect(commandViolations(logged, events, answered)).toEqual([]);
    const intents = new Set(await intentIds(dataDir));
    expect(logged.filter((line) => !intents.has(line.intent_id))).toEqual([]);
    expect(await deviceLog(dataDir)).toEqual(logged);
  }, 90_000);

  it('would notice a lost event, a doubled one, a repeated command and an invented success', () => {
    const event = (id: string, outcome = 'succeeded') => ({ outcome, details: { attempt_id: id } });
    const command = { intent_id: 'a' };
    expect(commandViolations([command], [event('a')], ['a'])).toEqual([]);
    expect(commandViolations([command], [], [])).toEqual(['a has 0 events']);
    expect(commandViolations([command], [event('a'), event('a')], [])).toEqual(['a has 2 events']);
    expect(commandViolations([command, command], [event('a')], [])).toEqual(['a was sent 2 times']);
    expect(commandViolations([command], [event('a', 'unknown')], ['a'])).toEqual([
      'a was answered but is not a success',
    ]);
    expect(commandViolations([], [event('a')], [])).toEqual(['a is a success without a command']);
  });
});

/** 200 opens, 20 at a time; the process dies when a third of them has been answered. */
async function openUntilKilled(
  api: ApiClient,
  door: string,
  kill: () => Promise<unknown>,
): Promise<string[]> {
  const answered: string[] = [];
  let started = 0;
  let killed = null as Promise<unknown> | null;
  const worker = async () => {
    while (started < 200) {
      started += 1;
      const params = { id: door, action_id: 'switchable.open' };
      const result = await api('execute_entity_action', { params, body: {} }).catch(() => null);
      if (result !== null) answered.push(result.attempt_id);
      if (answered.length >= 66) killed ??= kill();
    }
  };
  await Promise.all(Array.from({ length: 20 }, worker));
  await killed;
  return answered;
}

async function deviceLog(dataDir: string): Promise<LoggedCommand[]> {
  const text = await readFile(join(dataDir, 'virtual-demo', 'commands.jsonl'), 'utf8');
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as LoggedCommand);
}

/** Straight from the embedded database of the running service; the key of the table makes each id one row. */
async function intentIds(dataDir: string): Promise<string[]> {
  const password = (await readFile(join(dataDir, 'postgres-password'), 'utf8')).trim();
  const port = (await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[3];
  const client = new pg.Client({
    connectionString: `postgresql://lintel_owner:${encodeURIComponent(password)}@127.0.0.1:${port}/lintel`,
  });
  await client.connect();
  const { rows } = await client.query<{ id: string }>('select id from intents');
  await client.end();
  return rows.map((row) => row.id);
}

/** Recovery closes what the lost process left, some seconds after its deadline. */
async function waitForOutcomes(
  api: ApiClient,
  orgId: string,
  logged: readonly LoggedCommand[],
): Promise<AuditRecord[]> {
  for (let attempt = 0; attempt < 60; attempt += 1) {
    const events = await actionEvents(api, orgId);
    const attempts = new Set(events.map((event) => event.details.attempt_id));
    if (logged.every((line) => attempts.has(line.intent_id))) return events;
    await new Promise((resume) => setTimeout(resume, 500));
  }
  return actionEvents(api, orgId);
}

async function actionEvents(api: ApiClient, orgId: string): Promise<AuditRecord[]> {
  const events: AuditRecord[] = [];
  let cursor: string | null = null;
  do {
    const query: { event_type: string; limit: number; cursor?: string } = {
      event_type: 'entity.action',
      limit: 200,
    };
    if (cursor !== null) query.cursor = cursor;
    const page: { items: AuditRecord[]; next_cursor: string | null } = await api('list_audit_events', {
      params: { org_id: orgId },
      query,
    });
    events.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return events;
}
