import type { UserInvitation } from '@lintel/contract/org-invitations';
import { type Clock, toRfc3339 } from '../../kernel/clock.ts';
import type { HandlersOf } from '../../kernel/handler.ts';
import { maskEmail, statusOf } from './org-invitations.rules.ts';
import type { InvitationsService, Issued } from './org-invitations.service.ts';
import type { OrgInvitation } from './org-invitations.store.ts';

type Ids =
  | 'list_invitations'
  | 'create_invitation'
  | 'cancel_invitation'
  | 'hard_delete_invitation'
  | 'resend_invitation'
  | 'preview_invitation'
  | 'redeem_invitation';

export function orgInvitationRoutes(invitations: InvitationsService, clock: Clock): HandlersOf<Ids> {
  return {
    list_invitations: async ({ org }) => {
      const now = clock.now();
      return { invitations: (await invitations.list(org)).map((invitation) => toRecord(invitation, now)) };
    },
    create_invitation: async ({ call, org, body }) =>
      toIssued(await invitations.create(call, org, body), clock.now()),
    resend_invitation: async ({ call, org, params }) =>
      toIssued(await invitations.resend(call, org, params.invite_id), clock.now()),
    cancel_invitation: async ({ call, org, params }) => {
      await invitations.cancel(call, org, params.invite_id);
    },
    hard_delete_invitation: async ({ call, org, params }) => {
      await invitations.purge(call, org, params.invite_id);
    },
    preview_invitation: async ({ call, body }) => {
      const { invitation, org } = await invitations.preview(call, body.token);
      return {
        org_id: invitation.orgId,
        org_name: org.name,
        channel: 'email',
        status: statusOf(invitation, clock.now()),
        target_masked: maskEmail(invitation.email),
        expires_at: toRfc3339(invitation.expiresAt),
      };
    },
    redeem_invitation: async ({ call, body }) => {
      const joined = await invitations.redeem(call, body.token, body.pin);
      return { org_id: joined.orgId, user_id: joined.userId, default_roles: [...joined.roles] };
    },
  };
}

function toIssued(issued: Issued, now: Date) {
  return {
    invitation: toRecord(issued.invitation, now),
    redeem_url: issued.redeemUrl,
    pin: issued.pin,
  };
}

function toRecord(invitation: OrgInvitation, now: Date): UserInvitation {
  return {
    id: invitation.id,
    org_id: invitation.orgId,
    status: statusOf(invitation, now),
    channel: 'email',
    email: invitation.email,
    default_roles: invitation.defaultRoles,
    sent_count: invitation.sentCount,
    invited_by_user_id: invitation.invitedByUserId,
    accepted_user_id: invitation.acceptedUserId,
    created_at: toRfc3339(invitation.createdAt),
    expires_at: toRfc3339(invitation.expiresAt),
    last_sent_at: toRfc3339(invitation.lastSentAt),
  };
}
