import type { Tx } from '../../db/database.ts';
import { notFound } from '../../kernel/app-error.ts';
import type { Call } from '../../kernel/call.ts';
import { statusOf } from './org-invitations.rules.ts';
import type { InvitationsDeps } from './org-invitations.service.ts';
import { findByToken, findInvitedOrg, type InvitedOrg, type OrgInvitation } from './org-invitations.store.ts';

/** As the service: which organization it is about, the token alone tells. */
export async function previewInvitation(
  deps: InvitationsDeps,
  call: Call,
  token: string,
): Promise<{ invitation: OrgInvitation; org: InvitedOrg }> {
  await deps.admitAttempt('preview', call.ip);
  return deps.db.asService(async (tx) => {
    const invitation = await findByToken(tx, deps.secrets.hashToken(token));
    const org = invitation && (await findInvitedOrg(tx, invitation.orgId));
    if (invitation === null || org === null) throw notFound();
    return { invitation, org };
  });
}

/** For registration at the built-in identity provider: whom a pending invitation is for. */
export async function findPending(
  deps: Pick<InvitationsDeps, 'secrets' | 'clock'>,
  tx: Tx,
  token: string,
): Promise<{ orgId: string; email: string } | null> {
  const invitation = await findByToken(tx, deps.secrets.hashToken(token));
  if (invitation === null || statusOf(invitation, deps.clock.now()) !== 'pending') return null;
  if ((await findInvitedOrg(tx, invitation.orgId)) === null) return null;
  return { orgId: invitation.orgId, email: invitation.email };
}
