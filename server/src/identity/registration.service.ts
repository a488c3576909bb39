import { randomUUID } from 'node:crypto';
import type { Tx } from '../db/database.ts';
import { normalizeEmail } from '../kernel/email.ts';
import { cleanText } from '../kernel/text.ts';
import { takeAttempt } from './attempts.ts';
import { consumeCode, findCode } from './code.store.ts';
import { hashCredential } from './credentials-hash.ts';
import { admitSubmission, expiredError, type Refusal, refuse, type Submission } from './flow.service.ts';
import { completeFlow } from './flow.store.ts';
import { deleteIdentity, findByAddress, findByUser, insertIdentity, lockAddress } from './identity.store.ts';
import { recordIdentityEvent } from './identity-audit.ts';
import {
  builtinIssuer,
  type Identity,
  type IdentityDeps,
  type IdentityRequest,
  type UiMessage,
} from './identity-model.ts';
import { issueSession } from './issue-session.ts';
import { KratosError } from './kratos-error.ts';
import type { FlowSuccess } from './login.service.ts';
import { judgePassword } from './password.rules.ts';
import { readSubmittedForm, type SubmittedForm } from './submitted-form.rules.ts';
import {
  duplicateAddress,
  generic,
  invalidFormat,
  noStrategy,
  passwordRefused,
  required,
  tooManyAttempts,
} from './ui-messages.ts';
import { linkIdentity } from './user-link.store.ts';

const codeField = 'transient_payload.code';
const badCode = generic('This code is unknown, expired or used. Ask for a new invitation.', codeField);

/** Who vouches for a newcomer: an organization's invitation, or a code of the operator for a user that exists already. */
interface Voucher {
  readonly email: string;
  readonly orgId: string | null;
  readonly userId: string | null;
  readonly codeHash: Buffer | null;
}

interface Applicant {
  readonly email: string;
  readonly name: string | null;
  readonly password: string;
  readonly code: string;
}

export async function submitRegistration(
  deps: IdentityDeps,
  request: IdentityRequest,
  flowId: unknown,
  body: unknown,
): Promise<FlowSuccess | Refusal> {
  const form = readSubmittedForm(body);
  const submission = await admitSubmission(deps, request, 'registration', flowId, form.csrfToken);
  if (submission.session !== null) {
    throw new KratosError('session_already_available', { redirectTo: `${deps.publicUrl}/` });
  }
  const applicant = readApplicant(form);
  if ('problems' in applicant) return refuse(deps, submission, applicant.problems);
  const { email: identifier } = applicant;
  const attempt = await takeAttempt(deps, { address: null, ip: request.ip });
  if (!attempt.ok) {
    const { retryAfterSeconds } = attempt;
    const messages = [tooManyAttempts(retryAfterSeconds)];
    return refuse(deps, submission, messages, { identifier, retryAfterSeconds });
  }
  const outcome = await register(deps, request, submission, applicant);
  if ('problem' in outcome) return refuse(deps, submission, [outcome.problem], { identifier });
  await attempt.refund();
  return outcome;
}

function readApplicant(form: SubmittedForm): Applicant | { problems: UiMessage[] } {
  if (form.method !== 'password') return { problems: [noStrategy('registration')] };
  const { email: address, password, code } = form;
  if (address === null || password === null || code === null) {
    const given = { 'traits.email': address, password, [codeField]: code };
    const missing = Object.entries(given).filter(([, value]) => value === null);
    return { problems: missing.map(([name]) => required(name)) };
  }
  const email = normalizeEmail(address);
  if (email === null) return { problems: [invalidFormat('traits.email', 'email')] };
  const name = form.name === null ? null : cleanText(form.name, { maxLength: 120 });
  if (name?.ok === false) return { problems: [generic(`The name ${name.reason}.`, 'traits.name')] };
  const verdict = judgePassword(password, email);
  if (!verdict.ok) return { problems: [passwordRefused(verdict.problem)] };
  return { email, name: name?.text ?? null, password, code };
}

async function register(
  deps: IdentityDeps,
  request: IdentityRequest,
  submission: Submission,
  applicant: Applicant,
): Promise<FlowSuccess | { problem: UiMessage }> {
  const voucher = await deps.db.asService((tx) => findVoucher(deps, tx, applicant.code));
  if (voucher === null) return { problem: badCode };
  if (voucher.email !== applicant.email) {
    return { problem: generic('Use the address that was invited.', 'traits.email') };
  }
  const passwordHash = await deps.passwords.hash(applicant.password);
  return deps.db.asService(async (tx) => {
    await lockAddress(tx, applicant.email);
    const present = await findByAddress(tx, applicant.email);
    if (await isTaken(tx, voucher, present)) return { problem: duplicateAddress };
    if (!(await spend(tx, voucher))) return { problem: badCode };
    // An identity that nobody was linked to holds no rights and gives way.
    if (present !== null) await deleteIdentity(tx, present.id);
    const identityId = await makeIdentity(tx, voucher, applicant, passwordHash);
    return finishRegistration(deps, tx, request, submission, voucher, identityId);
  });
}

async function isTaken(tx: Tx, voucher: Voucher, present: Identity | null): Promise<boolean> {
  if (present !== null && present.userId !== null) return true;
  return voucher.userId !== null && (await findByUser(tx, voucher.userId)) !== null;
}

async function findVoucher(deps: IdentityDeps, tx: Tx, code: string): Promise<Voucher | null> {
  const invitation = await deps.findInvitation(tx, code);
  if (invitation !== null) return { ...invitation, userId: null, codeHash: null };
  const codeHash = hashCredential(deps.pepper, 'registration', code);
  const found = await findCode(tx, codeHash, 'registration');
  if (found === null || found.email === null) return null;
  return { email: found.email, orgId: null, userId: found.userId, codeHash };
}

/** An invitation stays: it is redeemed with its PIN afterwards, by the person who is then signed in. */
async function spend(tx: Tx, voucher: Voucher): Promise<boolean> {
  return voucher.codeHash === null || (await consumeCode(tx, voucher.codeHash, 'registration')) !== null;
}

async function makeIdentity(
  tx: Tx,
  voucher: Voucher,
  { email, name }: Applicant,
  passwordHash: string,
): Promise<string> {
  const id = randomUUID();
  await insertIdentity(tx, { id, email, emailVerified: voucher.userId !== null, passwordHash, name });
  if (voucher.userId !== null) await linkIdentity(tx, builtinIssuer, id, voucher.userId);
  return id;
}

async function finishRegistration(
  deps: IdentityDeps,
  tx: Tx,
  request: IdentityRequest,
  { flow }: Submission,
  voucher: Voucher,
  identityId: string,
): Promise<FlowSuccess> {
  const done = await completeFlow(tx, flow.id, []);
  if (done === null) throw await expiredError(deps, request, flow);
  const signedIn = await issueSession(deps, tx, request, {
    identityId,
    method: 'password',
    type: flow.type,
    replaces: null,
  });
  await recordIdentityEvent(deps, tx, request, {
    type: 'identity.login_succeeded',
    userId: voucher.userId,
    ...(voucher.orgId === null ? {} : { orgId: voucher.orgId }),
    flowType: flow.type,
    details: { method: 'registration', session_id: signedIn.session.id, ip: request.ip },
  });
  return { ...signedIn, kind: 'signed_in', flow: done };
}
