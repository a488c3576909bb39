// People who sign in at the built-in identity provider, by its native flows.
import type { TestApp } from './test-app.ts';

export const testPassword = 'a long enough passphrase';

export interface SignedIn {
  /** Sent with every request of this person. */
  readonly headers: Record<string, string>;
}

/** With an invitation's token or another code that lets somebody in. */
export function registerPerson(app: TestApp, email: string, code: string, name = 'New'): Promise<SignedIn> {
  return submit(app, 'registration', {
    method: 'password',
    traits: { email, name },
    password: testPassword,
    transient_payload: { code },
  });
}

export function signIn(app: TestApp, email: string): Promise<SignedIn> {
  return submit(app, 'login', { method: 'password', identifier: email, password: testPassword });
}

async function submit(app: TestApp, kind: 'login' | 'registration', body: object): Promise<SignedIn> {
  const { http } = app.app;
  const begun = await http.inject({ method: 'GET', url: `/identity/self-service/${kind}/api` });
  const { id } = begun.json<{ id: string }>();
  const done = await http.inject({
    method: 'POST',
    url: `/identity/self-service/${kind}?flow=${id}`,
    headers: { 'content-type': 'application/json' },
    payload: JSON.stringify(body),
  });
  if (done.statusCode !== 200) throw new Error(`${kind} answered ${done.statusCode}: ${done.body}`);
  return { headers: { 'x-session-token': done.json<{ session_token: string }>().session_token } };
}
