import { AppError } from '../kernel/app-error.ts';
import { readWhoami } from './kratos-record.rules.ts';
import {
  recordLogout,
  type SessionCredential,
  type SessionProvider,
  type SessionProviderDeps,
} from './session-provider.ts';

export interface ExternalKratosDeps extends SessionProviderDeps {
  /** Public base address, without a trailing slash. It is the issuer as well. */
  readonly identityUrl: string;
  readonly timeoutMs: number;
}

/** A real Ory Kratos. Its answer is never kept: a session ended there is over here with the next request. */
export function createExternalKratos(deps: ExternalKratosDeps): SessionProvider {
  return {
    async read(credential) {
      const response = await ask(deps, 'GET', '/sessions/whoami', credentialHeaders(credential));
      // 403 is a session that lacks a second factor: not signed in far enough.
      if (response.status === 401 || response.status === 403) return null;
      if (response.status !== 200) throw unreachable(`it answered ${response.status}`);
      const session = readWhoami(await readJson(response), deps.identityUrl);
      if (session === null) throw unreachable('its answer is no session');
      return session;
    },
    async end(session, credential, call) {
      const lines = credential.sessionToken === null ? await endByCookie(deps, credential) : [];
      if (credential.sessionToken !== null) await endByToken(deps, credential.sessionToken);
      await deps.db.asService((tx) => recordLogout(deps, tx, session, call));
      return lines;
    },
  };
}

/** The way of a browser: a logout token for this cookie, then its use. */
async function endByCookie(deps: ExternalKratosDeps, credential: SessionCredential): Promise<string[]> {
  const headers = credentialHeaders(credential);
  const begun = await ask(deps, 'GET', '/self-service/logout/browser', headers);
  if (begun.status === 401) return [];
  const body = begun.status === 200 ? await readJson(begun) : null;
  const token = typeof body === 'object' && body !== null ? Reflect.get(body, 'logout_token') : undefined;
  if (typeof token !== 'string') throw unreachable('it gave no logout token');
  const ended = await ask(deps, 'GET', `/self-service/logout?token=${encodeURIComponent(token)}`, headers);
  if (ended.status !== 204 && ended.status !== 303) throw unreachable(`logout answered ${ended.status}`);
  return ended.headers.getSetCookie();
}

async function endByToken(deps: ExternalKratosDeps, sessionToken: string): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ session_token: sessionToken });
  const response = await ask(deps, 'DELETE', '/self-service/logout/api', headers, body);
  if (response.status !== 204) throw unreachable(`logout answered ${response.status}`);
}

function credentialHeaders({ cookie, sessionToken }: SessionCredential): Record<string, string> {
  if (sessionToken !== null) return { 'x-session-token': sessionToken };
  return cookie === null ? {} : { cookie };
}

async function ask(
  deps: ExternalKratosDeps,
  method: 'GET' | 'DELETE',
  path: string,
  headers: Record<string, string>,
  body?: string,
): Promise<Response> {
  try {
    return await fetch(`${deps.identityUrl}${path}`, {
      method,
      headers: { accept: 'application/json', ...headers },
      redirect: 'manual',
      signal: AbortSignal.timeout(deps.timeoutMs),
      ...(body === undefined ? {} : { body }),
    });
  } catch (error) {
    throw unreachable('it can not be reached', error);
  }
}

async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch (error) {
    throw unreachable('its answer is not JSON', error);
  }
}

function unreachable(why: string, cause?: unknown): AppError {
  return new AppError('unavailable', `the identity provider does not work: ${why}`, { cause });
}
