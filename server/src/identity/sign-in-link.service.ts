import { consumeCode, findCode } from './code.store.ts';
import { hashCredential } from './credentials-hash.ts';
import { findById } from './identity.store.ts';
import { recordIdentityEvent } from './identity-audit.ts';
import type { IdentityDeps, IdentityRequest } from './identity-model.ts';
import { issueSession, type SignedIn } from './issue-session.ts';
import { readSession } from './request-session.ts';

/** Looking at a link spends nothing: chat programs and mail scanners open every address they see. */
export async function isSignInCodeOpen(deps: IdentityDeps, code: unknown): Promise<boolean> {
  if (typeof code !== 'string') return false;
  const codeHash = hashCredential(deps.pepper, 'sign_in', code);
  return (await findCode(deps.db.direct, codeHash, 'sign_in')) !== null;
}

/** Null when the code is unknown, expired or used. */
export async function signInWithCode(
  deps: IdentityDeps,
  request: IdentityRequest,
  code: unknown,
): Promise<SignedIn | null> {
  if (typeof code !== 'string') return null;
  const replaces = await readSession(deps, { cookie: request.cookie, sessionToken: null });
  return deps.db.asService(async (tx) => {
    const used = await consumeCode(tx, hashCredential(deps.pepper, 'sign_in', code), 'sign_in');
    const identity = used?.identityId ? await findById(tx, used.identityId) : null;
    if (identity === null) return null;
    const signedIn = await issueSession(deps, tx, request, {
      identityId: identity.id,
      method: 'link_recovery',
      type: 'browser',
      replaces,
    });
    await recordIdentityEvent(deps, tx, request, {
      type: 'identity.login_succeeded',
      userId: identity.userId,
      flowType: 'browser',
      details: { method: 'one_time_link', session_id: signedIn.session.id, ip: request.ip },
    });
    return signedIn;
  });
}
