import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A person at the peer: what its whoami says about them. */
export interface PeerPerson {
  readonly email?: string;
  readonly verified?: boolean;
  readonly name?: unknown;
  /** As with a second factor that was not shown yet. */
  readonly needsSecondFactor?: boolean;
}

export interface PeerSession {
  readonly identityId: string;
  readonly cookie: string;
  readonly token: string;
}

/**
 * As much of Ory Kratos' public API as the service calls: whoami, the logout of a browser and of a native client. Bodies,
 * status codes and cookies follow its documentation (wire-facts 11).
 */
export interface KratosPeer {
  readonly url: string;
  signIn(person: PeerPerson): PeerSession;
  isActive(session: PeerSession): boolean;
  /** Answers everything in this way until it is set back to null. */
  fail(mode: 'hang' | 'error' | 'not_json' | null): void;
  close(): Promise<void>;
}

interface Stored extends PeerSession {
  readonly id: string;
  readonly person: PeerPerson;
  readonly logoutToken: string;
  active: boolean;
}

export async function startKratosPeer(): Promise<KratosPeer> {
  const sessions: Stored[] = [];
  let failing: Parameters<KratosPeer['fail']>[0] = null;
  const server = createServer((request, response) => {
    if (failing === 'hang') return;
    if (failing === 'error') json(response, 500, errorBody(500, 'Internal Server Error'));
    else if (failing === 'not_json') response.writeHead(200).end('<html>');
    else void answer(sessions, request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    signIn: (person) => addSession(sessions, person),
    isActive: ({ token }) => sessions.some((session) => session.token === token && session.active),
    fail: (mode) => {
      failing = mode;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function addSession(sessions: Stored[], person: PeerPerson): PeerSession {
  const secret = randomUUID();
  const stored: Stored = {
    id: randomUUID(),
    identityId: randomUUID(),
    cookie: `ory_kratos_session=cookie-${secret}`,
    token: `ory_st_${secret}`,
    logoutToken: `ory_lo_${randomUUID()}`,
    person,
    active: true,
  };
  sessions.push(stored);
  return { identityId: stored.identityId, cookie: stored.cookie, token: stored.token };
}

async function answer(sessions: Stored[], request: IncomingMessage, response: ServerResponse) {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://peer');
  const byCookie = sessions.find(
    ({ cookie, active }) => active && (request.headers.cookie ?? '').split('; ').includes(cookie),
  );
  const byToken = sessions.find(
    ({ token, active }) => active && token === request.headers['x-session-token'],
  );
  switch (`${request.method} ${pathname}`) {
    case 'GET /sessions/whoami':
      return whoami(response, byToken ?? byCookie);
    case 'GET /self-service/logout/browser':
      if (byCookie === undefined) return inactive(response);
      return json(response, 200, { logout_token: byCookie.logoutToken, logout_url: 'http://peer/logout' });
    case 'GET /self-service/logout':
      return logoutBrowser(response, byCookie, searchParams.get('token'));
    case 'DELETE /self-service/logout/api':
      return logoutApi(response, sessions, await bodyOf(request));
    default:
      return json(response, 404, errorBody(404, 'Not Found'));
  }
}

function whoami(response: ServerResponse, session: Stored | undefined): ServerResponse {
  if (session === undefined) return inactive(response);
  if (session.person.needsSecondFactor)
    return json(response, 403, errorBody(403, 'Forbidden', 'session_aal2_required'));
  return json(response, 200, recordOf(session));
}

function recordOf({ id, identityId, person }: Stored) {
  const at = '2026-01-02T03:04:05Z';
  const { email, verified = false, name } = person;
  const address = { id: randomUUID(), value: email, via: 'email', verified };
  return {
    id,
    active: true,
    expires_at: '2099-01-02T03:04:05Z',
    authenticated_at: at,
    issued_at: at,
    authenticator_assurance_level: 'aal1',
    authentication_methods: [{ method: 'password', aal: 'aal1', completed_at: at }],
    devices: [{ id: randomUUID(), ip_address: '192.0.2.1', user_agent: 'test', location: '' }],
    identity: {
      id: identityId,
      schema_id: 'default',
      schema_url: 'http://peer/schemas/default',
      state: 'active',
      traits: { ...(email === undefined ? {} : { email }), ...(name === undefined ? {} : { name }) },
      verifiable_addresses:
        email === undefined ? [] : [{ ...address, status: verified ? 'completed' : 'sent' }],
      metadata_public: null,
      created_at: at,
      updated_at: at,
    },
  };
}

function logoutBrowser(
  response: ServerResponse,
  session: Stored | undefined,
  token: string | null,
): ServerResponse {
  if (session === undefined) return inactive(response);
  if (token !== session.logoutToken) return json(response, 403, errorBody(403, 'Forbidden'));
  session.active = false;
  return response
    .writeHead(204, {
      'set-cookie': ['ory_kratos_session=; Path=/; Domain=example.test; Max-Age=0; HttpOnly'],
    })
    .end();
}

function logoutApi(
  response: ServerResponse,
  sessions: Stored[],
  body: { session_token?: string },
): ServerResponse {
  const session = sessions.find(({ token }) => token === body.session_token);
  if (session === undefined) return json(response, 403, errorBody(403, 'Forbidden'));
  session.active = false;
  return response.writeHead(204).end();
}

function inactive(response: ServerResponse): ServerResponse {
  return json(response, 401, errorBody(401, 'Unauthorized', 'session_inactive'));
}

function errorBody(code: number, status: string, id?: string) {
  return { error: { ...(id ? { id } : {}), code, status, message: status } };
}

function json(response: ServerResponse, status: number, body: unknown): ServerResponse {
  return response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function bodyOf(request: IncomingMessage): Promise<{ session_token?: string }> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString());
}
