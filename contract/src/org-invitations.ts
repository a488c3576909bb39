import { type Static, Type } from 'typebox';
import { Closed, IdParams, Nullable, OptionalNullable, PathId, Response, Timestamp, Ulid } from './common.ts';
import { defineOperation } from './operation.ts';

export const invitationStatuses = ['pending', 'redeemed', 'cancelled', 'expired'] as const;
const InvitationStatus = Type.Unsafe<(typeof invitationStatuses)[number]>({
  type: 'string',
  enum: [...invitationStatuses],
});
const Channel = Type.Unsafe<'email'>({ type: 'string', enum: ['email'] });

export const UserInvitation = Response('UserInvitation', {
  id: Ulid,
  org_id: Ulid,
  status: InvitationStatus,
  channel: Channel,
  email: Type.String(),
  default_roles: Type.Array(Type.String()),
  sent_count: Type.Integer(),
  invited_by_user_id: Ulid,
  accepted_user_id: Nullable(Ulid),
  created_at: Timestamp,
  expires_at: Timestamp,
  last_sent_at: Nullable(Timestamp),
});
export type UserInvitation = Static<typeof UserInvitation>;

const IssuedInvitation = Response('IssuedInvitation', {
  invitation: UserInvitation,
  redeem_url: Type.String({ description: 'Shown once: hand it to the person invited' }),
  pin: Type.String({ description: 'Shown once: hand it over by another way than the link' }),
});

const onOrg = {
  tag: 'Org invitations',
  auth: 'principal',
  agents: false,
  org: 'path',
  orgParam: 'id',
} as const;
const InvitationParams = Type.Object({ id: PathId, invite_id: PathId });
const token = Type.String({ minLength: 20, maxLength: 200 });

export const orgInvitationOperations = [
  defineOperation({
    ...onOrg,
    id: 'list_invitations',
    method: 'GET',
    path: '/orgs/{id}/invitations',
    summary: 'Invitations of any status',
    role: 'users:list',
    params: IdParams,
    responses: {
      200: Response('ListInvitationsResponse', { invitations: Type.Array(UserInvitation) }),
    },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...onOrg,
    id: 'create_invitation',
    method: 'POST',
    path: '/orgs/{id}/invitations',
    summary: 'Invite a person to the organization',
    description:
      'The service sends no mail: hand over the link and, by another way, the PIN. Without default_roles the person gets orgs:read. Nobody invites to roles they do not hold, and the inviter must still hold them when the invitation is redeemed.',
    role: 'users:create',
    params: IdParams,
    body: Closed('CreateInvitationRequest', {
      email: Type.String({ minLength: 3, maxLength: 254 }),
      default_roles: Type.Optional(
        Type.Array(Type.String({ maxLength: 120 }), { maxItems: 100, uniqueItems: true }),
      ),
      expires_in: OptionalNullable(
        Type.String({ maxLength: 64, description: 'A duration of at most 30d; 7d unless given' }),
      ),
    }),
    responses: { 201: IssuedInvitation },
    errors: ['quota_exceeded'],
    audit: 'invitation.created',
  }),
  defineOperation({
    ...onOrg,
    id: 'cancel_invitation',
    method: 'DELETE',
    path: '/orgs/{id}/invitations/{invite_id}',
    summary: 'Cancel a pending invitation',
    role: 'users:create',
    params: InvitationParams,
    responses: { 204: null },
    errors: ['invitation_closed'],
    audit: 'invitation.cancelled',
  }),
  defineOperation({
    ...onOrg,
    id: 'hard_delete_invitation',
    method: 'DELETE',
    path: '/orgs/{id}/invitations/{invite_id}/purge',
    summary: 'Remove an invitation for good',
    role: 'users:delete',
    params: InvitationParams,
    responses: { 204: null },
    errors: [],
    audit: 'invitation.purged',
  }),
  defineOperation({
    ...onOrg,
    id: 'resend_invitation',
    method: 'POST',
    path: '/orgs/{id}/invitations/{invite_id}/resend',
    summary: 'New link and PIN; the old ones stop working',
    description:
      'Whoever sends it again becomes the inviter, must hold the roles it gives, and starts its time anew.',
    role: 'users:create',
    params: InvitationParams,
    responses: { 200: IssuedInvitation },
    errors: ['invitation_closed', 'rate_limited'],
    audit: 'invitation.resent',
  }),
  defineOperation({
    id: 'preview_invitation',
    method: 'POST',
    path: '/invitations/preview',
    tag: 'Org invitations',
    summary: 'What an invitation is for, without accepting it',
    auth: 'public',
    agents: false,
    org: 'none',
    role: { rule: 'whoever holds the link' },
    body: Closed('InvitationPreviewRequest', { token }),
    responses: {
      200: Response('InvitationPreviewResponse', {
        org_id: Ulid,
        org_name: Type.Record(Type.String(), Type.String()),
        channel: Channel,
        status: InvitationStatus,
        target_masked: Type.String(),
        expires_at: Timestamp,
      }),
    },
    errors: ['not_found', 'rate_limited'],
    audit: null,
  }),
  defineOperation({
    id: 'redeem_invitation',
    method: 'POST',
    path: '/invitations/redeem',
    tag: 'Org invitations',
    summary: 'Join the organization with link and PIN',
    description:
      'Needs a browser session whose identity carries the invited address. The fifth wrong PIN cancels the invitation.',
    auth: 'session',
    agents: false,
    org: 'none',
    role: { rule: 'the signed-in person whose address was invited, with the PIN' },
    body: Closed('RedeemInvitationRequest', { token, pin: Type.String({ minLength: 4, maxLength: 12 }) }),
    responses: {
      200: Response('RedeemInvitationResponse', {
        org_id: Ulid,
        user_id: Ulid,
        default_roles: Type.Array(Type.String()),
      }),
    },
    errors: ['already_exists', 'invitation_gone', 'not_found', 'quota_exceeded', 'rate_limited', 'wrong_pin'],
    audit: 'invitation.redeemed',
  }),
] as const;
