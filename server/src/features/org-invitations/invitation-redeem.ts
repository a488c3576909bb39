import type { Role } from '@lintel/contract/roles';
import { type AuditOrigin, originOf, recordEvent } from '../../audit/audit.store.ts';
import { refusedGrant } from '../../auth/role-grants.rules.ts';
import { grantsOfUser, insertGrants } from '../../auth/role-grants.store.ts';
import type { Tx } from '../../db/database.ts';
import { AppError, notFound } from '../../kernel/app-error.ts';
import { type Call, type IdentitySession, type RoleGrant, systemActor } from '../../kernel/call.ts';
import { normalizeEmail } from '../../kernel/email.ts';
import { userOfSession } from './joining-user.ts';
import { maxPinFailures, resourceOf, statusOf } from './org-invitations.rules.ts';
import type { InvitationsDeps } from './org-invitations.service.ts';
import {
  countPinFailure,
  findByToken,
  holdInvitedOrg,
  type InvitedOrg,
  lockByToken,
  type OrgInvitation,
  spendInvitation,
} from './org-invitations.store.ts';

export interface Joined {
  readonly orgId: string;
  readonly userId: string;
  readonly roles: readonly Role[];
}

/**
 * As the service: the organization is known by the token alone, and inviter and invited may belong to others. A wrong
 * PIN is counted by a transaction that commits, so it is told only after it.
 */
export async function redeemInvitation(
  deps: InvitationsDeps,
  call: Call,
  token: string,
  pin: string,
): Promise<Joined> {
  const { session } = call;
  if (session === null) throw new AppError('unauthorized', 'a session is required');
  await deps.admitAttempt('redeem', call.ip);
  const joined = await deps.db.asService(async (tx) => {
    const { invitation, org } = await openInvitation(deps, tx, token, session);
    if (!deps.secrets.isPin(invitation.id, pin, invitation.pinHash)) {
      await recordWrongPin(deps, tx, call, invitation);
      return null;
    }
    return join(deps, tx, call, session, invitation, org);
  });
  if (joined === null) throw new AppError('wrong_pin', 'the PIN is wrong');
  return joined;
}

/**
 * A stranger with the link learns no more than one without it. The organization is held before the invitation, in the
 * order in which a purge takes them.
 */
async function openInvitation(deps: InvitationsDeps, tx: Tx, token: string, session: IdentitySession) {
  const tokenHash = deps.secrets.hashToken(token);
  const found = await findByToken(tx, tokenHash);
  if (found === null || normalizeEmail(session.email ?? '') !== found.email) throw notFound();
  const org = await holdInvitedOrg(tx, found.orgId);
  const invitation = await lockByToken(tx, tokenHash);
  if (invitation === null) throw notFound();
  if (org === null || statusOf(invitation, deps.clock.now()) !== 'pending') throw gone();
  return { invitation, org };
}

async function join(
  deps: InvitationsDeps,
  tx: Tx,
  call: Call,
  session: IdentitySession,
  invitation: OrgInvitation,
  org: InvitedOrg,
): Promise<Joined> {
  const { orgId, defaultRoles, invitedByUserId, email } = invitation;
  const inviterGrants = await requireInviter(tx, invitation, org);
  const user = await userOfSession(tx, { session, email, defaultLocale: org.defaultLocale, inviterGrants });
  if (!(await spendInvitation(tx, invitation, user.id, deps.clock.now()))) throw gone();
  const grants = defaultRoles.map((role) => ({ orgId, role }));
  await insertGrants(tx, user.id, grants, invitedByUserId);
  await recordEvent(tx, originOfJoin(call, user.id), {
    orgId,
    type: 'invitation.redeemed',
    resource: resourceOf(invitation),
    details: { user_id: user.id, default_roles: defaultRoles, provisioned: user.isNew },
  });
  return { orgId, userId: user.id, roles: defaultRoles };
}

/** An invitation gives what its inviter could give now: rights lost since take it along. */
async function requireInviter(tx: Tx, invitation: OrgInvitation, org: InvitedOrg): Promise<RoleGrant[]> {
  const userId = invitation.invitedByUserId;
  const grants = await grantsOfUser(tx, userId);
  const inviter = { kind: 'user', userId, grants, sessionId: '' } as const;
  const position = { id: invitation.orgId, path: org.path };
  if (refusedGrant(inviter, position, invitation.defaultRoles) !== null) throw gone();
  return grants;
}

async function recordWrongPin(
  deps: InvitationsDeps,
  tx: Tx,
  call: Call,
  invitation: OrgInvitation,
): Promise<void> {
  const failures = await countPinFailure(tx, invitation, maxPinFailures, deps.clock.now());
  await recordEvent(tx, originOf(call), {
    orgId: invitation.orgId,
    type: 'invitation.redeemed',
    outcome: 'denied',
    resource: resourceOf(invitation),
    details: { code: 'wrong_pin', failures, cancelled: failures >= maxPinFailures },
  });
}

/** Who joined did it, even if they were nobody when the request came in. */
function originOfJoin(call: Call, userId: string): AuditOrigin {
  return { ...originOf(call), actor: { ...systemActor, kind: 'user', userId } };
}

function gone(): AppError {
  return new AppError('invitation_gone', 'the invitation is expired, cancelled or used');
}
