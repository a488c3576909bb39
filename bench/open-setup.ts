import { createClient } from '@lintel/contract/client';
import pg from 'pg';
import { ulid } from '../server/src/kernel/ulid.ts';
import { postRequest } from './http-load.ts';

export interface Printed {
  readonly api_base: string;
  readonly api_key: string;
  readonly org_id: string;
}

/** One organization as the bench uses it: a scoped key, and one door or more. */
export interface BenchOrg {
  readonly id: string;
  readonly token: string;
  readonly doors: readonly string[];
}

const doorsEach = 4;

/**
 * Organizations as customers have them: a building, a key scoped to its doors, 20 policies that all have to be asked and
 * none of which denies, and limits that are far away.
 */
export async function prepareOrgs(printed: Printed, count: number): Promise<BenchOrg[]> {
  const root = createClient({ baseUrl: printed.api_base, token: printed.api_key });
  const orgIds: string[] = [];
  for (let n = 0; n < count; n += 1)
    orgIds.push((await root('create_org', { body: { name: `Bench ${n}`, parent_id: printed.org_id } })).id);
  const session = await signInAsAdminOf(printed, orgIds);
  const orgs: BenchOrg[] = [];
  for (const orgId of orgIds) orgs.push(await prepareOrg(printed, session, orgId));
  return orgs;
}

export function openRequests(port: number, orgs: readonly BenchOrg[]): readonly string[] {
  // Organizations take turns, so that neighbours in time are of different ones.
  return Array.from({ length: doorsEach }, (_, door) =>
    orgs.map(({ token, doors }) =>
      postRequest(
        port,
        `/api/v1/entities/${doors[door]}/actions/switchable.open`,
        { authorization: `Bearer ${token}` },
        '{}',
      ),
    ),
  ).flat();
}

async function signInAsAdminOf(printed: Printed, orgIds: readonly string[]): Promise<string> {
  const root = createClient({ baseUrl: printed.api_base, token: printed.api_key });
  const [email, password] = ['bench@bench.test', 'a bench is not a door'];
  await root('create_user', {
    headers: { 'X-Org': printed.org_id },
    body: { name: 'Bench', email, password, roles: Object.fromEntries(orgIds.map((id) => [id, ['admin']])) },
  });
  const identity = new URL('/identity', printed.api_base).href;
  const flow = (await json(await fetch(`${identity}/self-service/login/api`))) as { ui: { action: string } };
  const answer = await fetch(flow.ui.action, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ method: 'password', identifier: email, password }),
  });
  return ((await json(answer)) as { session_token: string }).session_token;
}

async function json(answer: Response): Promise<unknown> {
  if (!answer.ok) throw new Error(`${answer.url}: ${answer.status} ${await answer.text()}`);
  return await answer.json();
}

async function prepareOrg(printed: Printed, sessionToken: string, orgId: string): Promise<BenchOrg> {
  const call = async (method: string, path: string, body: unknown) => {
    const headers = { 'content-type': 'application/json', 'x-session-token': sessionToken, 'x-org': orgId };
    return (await json(
      await fetch(`${printed.api_base}${path}`, { method, headers, body: JSON.stringify(body) }),
    )) as { id: string; token: string };
  };
  const provider = { org_id: orgId, provider_type: 'virtual_demo', name: 'Doors' };
  const integration = await call('POST', '/integrations', provider);
  const doors: string[] = [];
  for (let n = 0; n < doorsEach; n += 1) {
    const device = await call('POST', '/devices', {
      org_id: orgId,
      integration_id: integration.id,
      name: `Door ${n}`,
    });
    doors.push((await call('POST', '/entities', { device_id: device.id, entity_type: 'door' })).id);
  }
  for (const policy of policies()) await call('POST', `/orgs/${orgId}/policies`, policy);
  const scope = { scoped_roles: ['entities:set_state'], scoped_entity_ids: doors };
  const { token } = await call('POST', '/api-keys', { name: 'bench', expires_in: '1h', ...scope });
  return { id: orgId, token, doors };
}

function* policies(): Generator<Record<string, unknown>> {
  // A minute of the day twelve hours from now: asked every time, true only much later.
  const later = new Date(Date.now() + 12 * 3_600_000).toISOString().slice(11, 16);
  for (let n = 0; n < 8; n += 1) yield { policy_type: 'quiet_hours', config: { start: later, end: later } };
  for (let n = 0; n < 6; n += 1)
    yield { policy_type: 'require_step_up', config: { applies_to: ['agent', 'resident'] } };
  for (let n = 0; n < 3; n += 1)
    yield {
      policy_type: 'quiet_hours',
      config: { start: '00:00', end: '23:59', applies_to: ['invitation'] },
    };
  yield { policy_type: 'holiday_calendar', config: { dates: ['2000-01-01'] } };
  yield { policy_type: 'approval_threshold', config: { count: 2 } };
  yield { policy_type: 'invitation_max_uses', config: { max_uses: 5 } };
}

/** Only administrators of the platform set limits through the API, and the printed key is none. */
export async function limitOpens(databaseUrl: string, orgs: readonly BenchOrg[]): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query("set lintel.org = '*'");
  for (const { id } of orgs)
    for (const period of ['day', 'month'])
      await client.query(
        `insert into quota_overrides (org_id, id, quota_key, period, limit_value) values ($1, $2, 'door_opens', $3, 1000000000)`,
        [id, ulid(), period],
      );
  await client.end();
}
