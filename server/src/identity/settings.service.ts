import {
  admitSubmission,
  expiredError,
  type OpenFlow,
  present,
  type Refusal,
  refuse,
  uiUrl,
} from './flow.service.ts';
import { completeFlow } from './flow.store.ts';
import { findById, updatePasswordHash } from './identity.store.ts';
import { recordIdentityEvent } from './identity-audit.ts';
import type { ActiveSession, Flow, IdentityDeps, IdentityRequest } from './identity-model.ts';
import { KratosError } from './kratos-error.ts';
import { judgePassword } from './password.rules.ts';
import { revokeOtherSessions } from './session.store.ts';
import { isPrivileged } from './settings.rules.ts';
import { readSubmittedForm } from './submitted-form.rules.ts';
import { changesSaved, noStrategy, passwordRefused, required } from './ui-messages.ts';

export interface Saved extends OpenFlow {
  readonly kind: 'saved';
}

export async function submitSettings(
  deps: IdentityDeps,
  request: IdentityRequest,
  flowId: unknown,
  body: unknown,
): Promise<Saved | Refusal> {
  const form = readSubmittedForm(body);
  const submission = await admitSubmission(deps, request, 'settings', flowId, form.csrfToken);
  const { flow, session, csrfSecret } = submission;
  if (session === null) throw signInFirst(deps, flow);
  requireOwner(flow, session);
  if (!isPrivileged(session, deps.clock.now())) throw reauthenticate(deps, flow);
  const { identity } = session;
  if (form.method !== 'password') return refuse(deps, submission, [noStrategy('settings')], { identity });
  if (form.password === null) return refuse(deps, submission, [required('password')], { identity });
  const verdict = judgePassword(form.password, identity.email);
  if (!verdict.ok) return refuse(deps, submission, [passwordRefused(verdict.problem)], { identity });
  const done = await changePassword(deps, request, flow, session, form.password);
  const changed = (await findById(deps.db.direct, identity.id)) ?? identity;
  return { kind: 'saved', ...present(deps, done, csrfSecret, changed) };
}

export function requireOwner(flow: Flow, session: ActiveSession): void {
  if (flow.identityId !== session.identity.id) throw new KratosError('security_identity_mismatch');
}

/** A browser is sent to sign in and comes back to the same form. */
export function signInFirst(deps: IdentityDeps, flow: Flow): KratosError {
  const redirectTo = `${deps.baseUrl}/self-service/login/browser?return_to=${encodeURIComponent(uiUrl(deps, flow))}`;
  return new KratosError('session_inactive', { redirectTo });
}

function reauthenticate(deps: IdentityDeps, flow: Flow): KratosError {
  const back = encodeURIComponent(uiUrl(deps, flow));
  const redirectTo = `${deps.baseUrl}/self-service/login/browser?refresh=true&return_to=${back}`;
  return new KratosError('session_refresh_required', {
    redirectTo,
    extra: { redirect_browser_to: redirectTo },
  });
}

/** The password, the end of every other session, and the event: all or nothing. */
async function changePassword(
  deps: IdentityDeps,
  request: IdentityRequest,
  flow: Flow,
  session: ActiveSession,
  password: string,
): Promise<Flow> {
  const passwordHash = await deps.passwords.hash(password);
  const { identity } = session;
  return deps.db.asService(async (tx) => {
    const done = await completeFlow(tx, flow.id, [changesSaved]);
    if (done === null) throw await expiredError(deps, request, flow);
    await updatePasswordHash(tx, identity.id, passwordHash);
    const ended = await revokeOtherSessions(tx, identity.id, session.id);
    await recordIdentityEvent(deps, tx, request, {
      type: 'identity.password_changed',
      userId: identity.userId,
      flowType: flow.type,
      details: { sessions_ended: ended, ip: request.ip },
    });
    return done;
  });
}
