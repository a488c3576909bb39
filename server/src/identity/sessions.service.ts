import type { Tx } from '../db/database.ts';
import { equalInConstantTime } from '../kernel/secret.ts';
import { hashCredential, logoutTokenOf } from './credentials-hash.ts';
import { isUuid, safeReturnTo } from './flow.service.ts';
import { recordIdentityEvent } from './identity-audit.ts';
import type { ActiveSession, FlowType, IdentityDeps, IdentityRequest } from './identity-model.ts';
import { KratosError } from './kratos-error.ts';
import { readSession } from './request-session.ts';
import {
  findSession,
  findSessionById,
  isKnownToken,
  listSessions,
  revokeOtherSessions,
  revokeSession,
} from './session.store.ts';

export async function requireSession(deps: IdentityDeps, request: IdentityRequest): Promise<ActiveSession> {
  const session = await readSession(deps, request);
  if (session === null) throw new KratosError('session_inactive');
  return session;
}

const clientTypeOf = (request: IdentityRequest): FlowType =>
  request.sessionToken === null ? 'browser' : 'api';

export async function listOtherSessions(
  deps: IdentityDeps,
  request: IdentityRequest,
): Promise<ActiveSession[]> {
  const current = await requireSession(deps, request);
  const all = await listSessions(deps.db.direct, current.identity.id);
  return all.filter((session) => session.id !== current.id);
}

export async function endOtherSessions(deps: IdentityDeps, request: IdentityRequest): Promise<number> {
  const { id, identity } = await requireSession(deps, request);
  return deps.db.asService(async (tx) => {
    const count = await revokeOtherSessions(tx, identity.id, id);
    if (count > 0) {
      await recordIdentityEvent(deps, tx, request, {
        type: 'identity.logged_out',
        userId: identity.userId,
        flowType: clientTypeOf(request),
        details: { sessions_ended: count },
      });
    }
    return count;
  });
}

/** One of the caller's other sessions; somebody else's is as unknown as an absent one, and answered alike. */
export async function endMySession(deps: IdentityDeps, request: IdentityRequest, id: string): Promise<void> {
  const current = await requireSession(deps, request);
  if (id === current.id) throw new KratosError('bad_request', { reason: 'Use logout for the own session.' });
  const target = isUuid(id) ? await findSessionById(deps.db.direct, id) : null;
  if (target === null || target.identity.id !== current.identity.id) throw new KratosError('not_found');
  await deps.db.asService((tx) => endSession(deps, tx, request, target, clientTypeOf(request)));
}

/** Writes the event only when something ended. */
async function endSession(
  deps: IdentityDeps,
  tx: Tx,
  request: IdentityRequest,
  session: ActiveSession,
  flowType: FlowType,
): Promise<void> {
  if (!(await revokeSession(tx, session.id))) return;
  const { userId } = session.identity;
  const details = { session_id: session.id };
  await recordIdentityEvent(deps, tx, request, { type: 'identity.logged_out', userId, flowType, details });
}

export async function createLogoutUrl(
  deps: IdentityDeps,
  request: IdentityRequest,
  returnTo: string | undefined,
): Promise<{ logout_url: string; logout_token: string }> {
  const session = await requireSession(deps, { ...request, sessionToken: null });
  const token = logoutTokenOf(deps.pepper, session.id);
  const target = safeReturnTo(deps, returnTo);
  const query = new URLSearchParams({ token, ...(target === null ? {} : { return_to: target }) });
  return { logout_url: `${deps.baseUrl}/self-service/logout?${query}`, logout_token: token };
}

/** The token is the proof that no foreign page sent the browser here. Returns where to go next. */
export async function logoutBrowser(
  deps: IdentityDeps,
  request: IdentityRequest,
  query: { token: string | undefined; returnTo: string | undefined },
): Promise<string> {
  const target = safeReturnTo(deps, query.returnTo) ?? `${deps.publicUrl}/`;
  const session = await requireSession(deps, { ...request, sessionToken: null });
  const expected = Buffer.from(logoutTokenOf(deps.pepper, session.id));
  if (!equalInConstantTime(Buffer.from(query.token ?? ''), expected)) {
    throw new KratosError('forbidden', { reason: 'The logout token does not match the session cookie.' });
  }
  await deps.db.asService((tx) => endSession(deps, tx, request, session, 'browser'));
  return target;
}

/** Again after the end is fine; a token that never was is refused. */
export async function logoutByToken(
  deps: IdentityDeps,
  request: IdentityRequest,
  token: unknown,
): Promise<void> {
  const tokenHash = hashCredential(deps.pepper, 'token', typeof token === 'string' ? token : '');
  const session = await findSession(deps.db.direct, tokenHash);
  if (session !== null) {
    await deps.db.asService((tx) => endSession(deps, tx, request, session, 'api'));
  } else if ((await isKnownToken(deps.db.direct, tokenHash)) === null) {
    throw new KratosError('forbidden', {
      reason: 'The provided Ory Session Token could not be found, is invalid, or otherwise malformed.',
    });
  }
}
