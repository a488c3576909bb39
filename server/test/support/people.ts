import { createSignInLink } from '../../src/identity/accounts.ts';
import type { TestApp } from './test-app.ts';
import { rootAdminId, rootOrgId, testPepper, testPublicUrl } from './test-world.ts';

export const identityBase = `${testPublicUrl}/identity`;

export interface PersonWithPassword {
  readonly userId: string;
  readonly orgId: string;
  readonly email: string;
  readonly password: string;
}

let count = 0;

/** Somebody with an organization and a password, made through the API. */
export async function createPerson(app: TestApp): Promise<PersonWithPassword> {
  count += 1;
  const { token } = await app.world.key(rootOrgId, rootAdminId);
  const orgId = await app.world.org();
  const [email, password] = [`person-${count}@people.test`, `correct horse ${count}`];
  const created = await app.request('POST', '/users', {
    token,
    org: orgId,
    body: { name: `Person ${count}`, email, password, roles: { [orgId]: ['admin'] } },
  });
  if (created.status !== 201) throw new Error(`no person: ${created.text}`);
  return { userId: String(created.body.id), orgId, email, password };
}

export function signInLinkFor(app: TestApp, person: { userId: string; email: string }): Promise<string> {
  const deps = { pepper: testPepper, baseUrl: identityBase };
  return app.app.db.asService((tx) => createSignInLink(deps, tx, person));
}

/** A native session: its token. */
export function sessionTokenFor(
  app: TestApp,
  { email, password }: { email: string; password: string },
): Promise<string> {
  return submitNativeFlow(app, 'login', { method: 'password', identifier: email, password });
}

export const testPassword = 'a long enough passphrase';

/** With an invitation's token or another code that lets somebody in. A native session: its token. */
export function registerPerson(app: TestApp, email: string, code: string, name = 'New'): Promise<string> {
  return submitNativeFlow(app, 'registration', {
    method: 'password',
    traits: { email, name },
    password: testPassword,
    transient_payload: { code },
  });
}

async function submitNativeFlow(app: TestApp, kind: 'login' | 'registration', body: object): Promise<string> {
  const flow = (await app.app.http.inject(`/identity/self-service/${kind}/api`)).json<{ id: string }>();
  const answer = await app.app.http.inject({
    method: 'POST',
    url: `/identity/self-service/${kind}?flow=${flow.id}`,
    payload: body,
  });
  if (answer.statusCode !== 200) throw new Error(`${kind} answered ${answer.statusCode}: ${answer.body}`);
  return answer.json<{ session_token: string }>().session_token;
}

/** A browser session: its Cookie header. */
export async function sessionCookieFor(
  app: TestApp,
  person: { userId: string; email: string },
): Promise<string> {
  const code = new URL(await signInLinkFor(app, person)).searchParams.get('code');
  const answer = await app.app.http.inject({
    method: 'POST',
    url: '/identity/sign-in',
    headers: { origin: testPublicUrl },
    payload: { code },
  });
  const line = String(answer.headers['set-cookie'] ?? '');
  if (answer.statusCode !== 303) throw new Error(`not signed in: ${answer.body}`);
  return line.split(';')[0] ?? '';
}

export interface RecordedEvent {
  readonly event_type: string;
  readonly org_id: string;
  readonly outcome: string;
  readonly actor_kind: string;
  readonly actor_user_id: string | null;
  readonly source: string;
  readonly correlation_id: string;
  readonly details: Record<string, unknown>;
}

/** Every event of a request, by its correlation id. */
export function eventsOf(app: TestApp, correlationId: string): Promise<RecordedEvent[]> {
  return app.db.query<RecordedEvent & Record<string, unknown>>(
    `select event_type, org_id, outcome, actor_kind, actor_user_id, source, correlation_id, details
     from audit_events where correlation_id = $1 order by occurred_at, id`,
    [correlationId],
  );
}
