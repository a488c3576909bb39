import { randomUUID } from 'node:crypto';
import { sessionCookieName } from '../../src/identity/cookies.ts';
import { hashCredential, newSessionToken } from '../../src/identity/credentials-hash.ts';
import { builtinIssuer } from '../../src/identity/identity-model.ts';
import { generateToken } from '../../src/kernel/secret.ts';
import type { Actor } from './scenario-world.ts';
import type { TestApp } from './test-app.ts';
import { testPepper } from './test-world.ts';

type Client = 'browser' | 'native app';

/** A session of the built-in identity provider, without the cost of a password. Returns the headers that carry it. */
export async function signIn(
  app: TestApp,
  userId: string,
  client: Client = 'browser',
): Promise<Record<string, string>> {
  const credential = client === 'browser' ? generateToken() : newSessionToken();
  const kind = client === 'browser' ? 'cookie' : 'token';
  await app.db.query(
    `insert into identity.sessions (id, identity_id, token_hash, method, expires_at)
     values ($1, $2, $3, 'password', now() + interval '1 day')`,
    [randomUUID(), await identityOf(app, userId), hashCredential(testPepper, kind, credential)],
  );
  return client === 'browser'
    ? { cookie: `${sessionCookieName}=${credential}`, 'sec-fetch-site': 'same-origin' }
    : { 'x-session-token': credential };
}

async function identityOf(app: TestApp, userId: string): Promise<string> {
  const [known] = await app.db.query<{ subject: string }>(
    'select subject from user_identities where user_id = $1 and issuer = $2',
    [userId, builtinIssuer],
  );
  if (known !== undefined) return known.subject;
  const id = randomUUID();
  await app.db.query(
    `insert into identity.identities (id, email, email_verified, name)
     select $1, email, true, 'Somebody' from users where id = $2`,
    [id, userId],
  );
  await app.db.query('insert into user_identities (issuer, subject, user_id) values ($1, $2, $3)', [
    builtinIssuer,
    id,
    userId,
  ]);
  return id;
}

export async function sessionActor(
  app: TestApp,
  userId: string,
  name: string,
  client: Client = 'browser',
): Promise<Actor> {
  const [user] = await app.db.query<{ email: string }>('select email from users where id = $1', [userId]);
  return { name, userId, email: user?.email ?? '', headers: await signIn(app, userId, client) };
}
