import type { Tx } from '../db/database.ts';
import { normalizeEmail } from '../kernel/email.ts';
import { takeAttempt } from './attempts.ts';
import { admitSubmission, expiredError, type Refusal, refuse, type Submission } from './flow.service.ts';
import { completeFlow } from './flow.store.ts';
import { findByAddress, holdPasswordHash } from './identity.store.ts';
import { recordIdentityEvent } from './identity-audit.ts';
import type { Flow, Identity, IdentityDeps, IdentityRequest, UiMessage } from './identity-model.ts';
import { issueSession, type SignedIn } from './issue-session.ts';
import { KratosError } from './kratos-error.ts';
import { readSubmittedForm, type SubmittedForm } from './submitted-form.rules.ts';
import { invalidCredentials, noStrategy, required, tooManyAttempts } from './ui-messages.ts';

export interface FlowSuccess extends SignedIn {
  readonly kind: 'signed_in';
  readonly flow: Flow;
}

export async function submitLogin(
  deps: IdentityDeps,
  request: IdentityRequest,
  flowId: unknown,
  body: unknown,
): Promise<FlowSuccess | Refusal> {
  const form = readSubmittedForm(body);
  const submission = await admitSubmission(deps, request, 'login', flowId, form.csrfToken);
  if (submission.session !== null && !submission.flow.refresh) {
    throw new KratosError('session_already_available', {
      redirectTo: submission.flow.returnTo ?? `${deps.publicUrl}/`,
    });
  }
  const { identifier, password } = form;
  const missing = missingOf(form);
  if (missing.length > 0 || identifier === null || password === null)
    return refuse(deps, submission, missing);
  return tryPassword(deps, request, submission, identifier, password);
}

function missingOf(form: SubmittedForm): UiMessage[] {
  if (form.method !== 'password') return [noStrategy('login')];
  return (['identifier', 'password'] as const).filter((name) => form[name] === null).map(required);
}

async function tryPassword(
  deps: IdentityDeps,
  request: IdentityRequest,
  submission: Submission,
  identifier: string,
  password: string,
): Promise<FlowSuccess | Refusal> {
  const address = normalizeEmail(identifier);
  const attempt = await takeAttempt(deps, { address: address ?? identifier, ip: request.ip });
  if (!attempt.ok) {
    const { retryAfterSeconds } = attempt;
    const messages = [tooManyAttempts(retryAfterSeconds)];
    return refuse(deps, submission, messages, { identifier: address, retryAfterSeconds });
  }
  const identity = await findByAddress(deps.db.direct, address ?? '');
  const isRight = await deps.passwords.verify(identity?.passwordHash ?? null, password);
  const success = identity !== null && isRight ? await signIn(deps, request, submission, identity) : null;
  if (success === null) {
    await recordFailure(deps, request, submission, identity);
    return refuse(deps, submission, [invalidCredentials], { identifier: address });
  }
  await attempt.refund();
  return success;
}

async function recordFailure(
  deps: IdentityDeps,
  request: IdentityRequest,
  { flow }: Submission,
  identity: Identity | null,
): Promise<void> {
  const userId = identity?.userId ?? null;
  await deps.db.asService((tx) =>
    recordIdentityEvent(deps, tx, request, {
      type: 'identity.login_failed',
      outcome: 'failed',
      userId,
      flowType: flow.type,
      details: { reason: failureOf(identity), ...(userId === null ? {} : { ip: request.ip }) },
    }),
  );
}

function failureOf(identity: Identity | null): string {
  if (identity === null) return 'unknown_address';
  return identity.passwordHash === null ? 'no_password' : 'wrong_password';
}

/** Null when the password was changed since it was looked at. */
function signIn(
  deps: IdentityDeps,
  request: IdentityRequest,
  submission: Submission,
  identity: Identity,
): Promise<FlowSuccess | null> {
  return deps.db.asService(async (tx) => {
    if ((await holdPasswordHash(tx, identity.id)) !== identity.passwordHash) return null;
    return finishLogin(deps, tx, request, submission, identity);
  });
}

async function finishLogin(
  deps: IdentityDeps,
  tx: Tx,
  request: IdentityRequest,
  { flow, session }: Submission,
  identity: Identity,
): Promise<FlowSuccess> {
  const done = await completeFlow(tx, flow.id, []);
  if (done === null) throw await expiredError(deps, request, flow);
  const signedIn = await issueSession(deps, tx, request, {
    identityId: identity.id,
    method: 'password',
    type: flow.type,
    replaces: session,
  });
  await recordIdentityEvent(deps, tx, request, {
    type: 'identity.login_succeeded',
    userId: identity.userId,
    flowType: flow.type,
    details: { method: 'password', session_id: signedIn.session.id, ip: request.ip },
  });
  return { ...signedIn, kind: 'signed_in', flow: done };
}
