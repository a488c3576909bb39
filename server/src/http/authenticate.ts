import type { AuthKind } from '@lintel/contract/operation';
import type { FastifyRequest } from 'fastify';
import type { Credentials } from '../auth/credentials.ts';
import { AppError } from '../kernel/app-error.ts';
import type { IdentitySession, Principal } from '../kernel/call.ts';
import { requireSameOrigin } from './csrf.ts';

/** Who is at the identity provider with this request; null without a session. */
export interface SessionReader {
  read(request: { cookie: string | null; sessionToken: string | null }): Promise<IdentitySession | null>;
}

export interface Authenticated {
  readonly principal: Principal | null;
  readonly session: IdentitySession | null;
  /** From memory: see Call.recalled. */
  readonly recalled: boolean;
  /** Cookies make the browser a confused deputy; tokens do not. */
  readonly byCookie: boolean;
  /** Of the session, when it came by one. */
  readonly sessionToken: string | null;
}

export interface AuthenticateDeps {
  readonly credentials: Credentials;
  readonly sessions: SessionReader;
  /** Makes or finds a user for a session that stands for nobody; false when there is none. */
  readonly provision: (session: IdentitySession, correlationId: string) => Promise<boolean>;
  readonly publicOrigin: string;
  readonly onRejectedKey: (request: FastifyRequest, principal: Principal, reason: string) => Promise<void>;
}

export const nobody: Authenticated = {
  principal: null,
  session: null,
  recalled: false,
  byCookie: false,
  sessionToken: null,
};

export function createAuthenticate(deps: AuthenticateDeps) {
  /** Only in the key's own organization: its epoch, which the commit verifies, says nothing of another's. */
  function byMemory(request: FastifyRequest, token: string): Authenticated | null {
    const principal = deps.credentials.recall(token);
    const org = request.headers['x-org'];
    if (principal === null || (org !== undefined && org !== principal.org.id)) return null;
    return { ...nobody, principal, recalled: true };
  }

  async function byToken(request: FastifyRequest, token: string): Promise<Authenticated> {
    const verdict = await deps.credentials.verifyToken(token);
    if (verdict.kind === 'good') return { ...nobody, principal: verdict.principal };
    if (verdict.kind === 'rejected') await deps.onRejectedKey(request, verdict.principal, verdict.reason);
    throw unauthorized();
  }

  async function bySession(request: FastifyRequest, sessionToken: string | null): Promise<Authenticated> {
    const cookie = request.headers.cookie ?? null;
    if (cookie === null && sessionToken === null) return nobody;
    const session = await deps.sessions.read({ cookie: sessionToken === null ? cookie : null, sessionToken });
    if (session === null) return nobody;
    const byCookie = sessionToken === null;
    if (byCookie) requireSameOrigin(request, deps.publicOrigin);
    return { ...nobody, principal: await userOf(request, session), session, byCookie, sessionToken };
  }

  async function userOf(request: FastifyRequest, session: IdentitySession): Promise<Principal | null> {
    const user = await deps.credentials.userOf(session);
    if (user !== null || !(await deps.provision(session, request.id))) return user;
    return deps.credentials.userOf(session);
  }

  return async function authenticate(
    request: FastifyRequest,
    kind: AuthKind,
    mayRecall: boolean,
  ): Promise<Authenticated> {
    if (kind === 'public') return nobody;
    const presented = presentedToken(request);
    if (presented.kind === 'key' && kind !== 'session') {
      const recalled = mayRecall ? byMemory(request, presented.token) : null;
      return recalled ?? byToken(request, presented.token);
    }
    const found = await bySession(request, presented.kind === 'session' ? presented.token : null);
    if (kind === 'session' && found.session === null) throw unauthorized();
    if (kind === 'principal' && found.principal === null) throw unauthorized();
    return found;
  };
}

export type Authenticate = ReturnType<typeof createAuthenticate>;

function unauthorized(): AppError {
  return new AppError('unauthorized', 'a valid credential is required');
}

type Presented =
  | { readonly kind: 'none' }
  | { readonly kind: 'key'; readonly token: string }
  | { readonly kind: 'session'; readonly token: string };

function presentedToken(request: FastifyRequest): Presented {
  const { authorization } = request.headers;
  const bearer = authorization === undefined ? undefined : bearerValue(authorization);
  const apiKey = single(request.headers['x-api-key']);
  if (bearer !== undefined && apiKey !== undefined && bearer.trim() !== apiKey.trim()) throw unauthorized();
  const token = bearer ?? apiKey;
  if (token !== undefined) return { kind: token.startsWith('ory_st_') ? 'session' : 'key', token };
  const sessionToken = single(request.headers['x-session-token']);
  return sessionToken === undefined ? { kind: 'none' } : { kind: 'session', token: sessionToken };
}

function bearerValue(authorization: string): string {
  const match = /^bearer +(.+)$/i.exec(authorization.trim());
  if (match?.[1] === undefined) throw unauthorized();
  return match[1];
}

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
