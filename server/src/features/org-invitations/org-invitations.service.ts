import { originOf, recordEvent } from '../../audit/audit.store.ts';
import { parseRoles, requireGrantable } from '../../auth/role-grants.rules.ts';
import type { Database, Tx } from '../../db/database.ts';
import { AppError, notFound } from '../../kernel/app-error.ts';
import { type Call, type OrgScope, principalOf } from '../../kernel/call.ts';
import { type Clock, toRfc3339 } from '../../kernel/clock.ts';
import { isUlid, ulid } from '../../kernel/ulid.ts';
import type { AdmitAttempt } from './invitation-attempts.ts';
import { previewInvitation } from './invitation-preview.ts';
import { type Joined, redeemInvitation } from './invitation-redeem.ts';
import type { InvitationSecrets } from './invitation-secrets.ts';
import {
  after,
  cooldownLeft,
  isClosed,
  leastRoles,
  lifetimeSeconds,
  parseInvitedEmail,
  renewedExpiry,
  resourceOf,
} from './org-invitations.rules.ts';
import {
  cancelInvitation,
  deleteInvitation,
  type InvitedOrg,
  insertInvitation,
  listInvitations,
  lockInvitation,
  type OrgInvitation,
  renewInvitation,
} from './org-invitations.store.ts';

export interface InvitationsDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly secrets: InvitationSecrets;
  readonly publicUrl: string;
  /** Counts what a caller tries, over all nodes; refuses with rate_limited. */
  readonly admitAttempt: AdmitAttempt;
}

export interface CreateInvitationInput {
  readonly email: string;
  readonly default_roles?: string[];
  readonly expires_in?: string | null;
}

export interface Issued {
  readonly invitation: OrgInvitation;
  readonly redeemUrl: string;
  readonly pin: string;
}

export interface InvitationsService {
  list(org: OrgScope): Promise<OrgInvitation[]>;
  create(call: Call, org: OrgScope, input: CreateInvitationInput): Promise<Issued>;
  resend(call: Call, org: OrgScope, id: string): Promise<Issued>;
  cancel(call: Call, org: OrgScope, id: string): Promise<void>;
  purge(call: Call, org: OrgScope, id: string): Promise<void>;
  preview(call: Call, token: string): Promise<{ invitation: OrgInvitation; org: InvitedOrg }>;
  redeem(call: Call, token: string, pin: string): Promise<Joined>;
}

export function createInvitationsService(deps: InvitationsDeps): InvitationsService {
  return {
    list: (org) => deps.db.inOrg(org.id, (tx) => listInvitations(tx, org.id)),
    create: (call, org, input) => createInvitation(deps, call, org, input),
    resend: (call, org, id) => resendInvitation(deps, call, org, id),
    cancel: (call, org, id) =>
      changeInvitation(deps, call, org, id, 'invitation.cancelled', async (tx, invitation) => {
        requireOpen(invitation);
        await cancelInvitation(tx, org.id, id, deps.clock.now());
      }),
    purge: (call, org, id) =>
      changeInvitation(deps, call, org, id, 'invitation.purged', (tx) => deleteInvitation(tx, org.id, id)),
    preview: (call, token) => previewInvitation(deps, call, token),
    redeem: (call, token, pin) => redeemInvitation(deps, call, token, pin),
  };
}

async function createInvitation(
  deps: InvitationsDeps,
  call: Call,
  org: OrgScope,
  input: CreateInvitationInput,
): Promise<Issued> {
  const principal = principalOf(call);
  const email = parseInvitedEmail(input.email);
  const requested = input.default_roles ?? [];
  const defaultRoles = parseRoles(requested.length === 0 ? leastRoles : requested, '/default_roles');
  requireGrantable(principal, org, defaultRoles);
  const now = deps.clock.now();
  const expiresAt = after(now, lifetimeSeconds(input.expires_in ?? null));
  const id = ulid();
  const minted = deps.secrets.mint(id);
  return deps.db.inOrg(org.id, async (tx) => {
    const invitation = await insertInvitation(tx, {
      ...{ orgId: org.id, id, email, defaultRoles, now, expiresAt },
      ...{ tokenHash: minted.tokenHash, pinHash: minted.pinHash, invitedByUserId: principal.userId },
    });
    await recordEvent(tx, originOf(call), {
      orgId: org.id,
      type: 'invitation.created',
      resource: resourceOf(invitation),
      details: { default_roles: defaultRoles, expires_at: toRfc3339(expiresAt) },
    });
    return issued(deps, invitation, minted);
  });
}

async function resendInvitation(
  deps: InvitationsDeps,
  call: Call,
  org: OrgScope,
  id: string,
): Promise<Issued> {
  const principal = principalOf(call);
  const minted = deps.secrets.mint(id);
  return changeInvitation(deps, call, org, id, 'invitation.resent', async (tx, invitation) => {
    requireOpen(invitation);
    // The sender sees link and PIN, so they must be entitled to all that these give.
    requireGrantable(principal, org, invitation.defaultRoles);
    const now = deps.clock.now();
    requireCooledDown(invitation, now);
    const renewed = await renewInvitation(tx, org.id, id, {
      ...{ tokenHash: minted.tokenHash, pinHash: minted.pinHash, invitedByUserId: principal.userId },
      ...{ now, expiresAt: renewedExpiry(invitation, now) },
    });
    return issued(deps, renewed, minted);
  });
}

type InvitationChange = 'invitation.cancelled' | 'invitation.purged' | 'invitation.resent';

async function changeInvitation<T>(
  deps: InvitationsDeps,
  call: Call,
  org: OrgScope,
  id: string,
  type: InvitationChange,
  work: (tx: Tx, invitation: OrgInvitation) => Promise<T>,
): Promise<T> {
  if (!isUlid(id)) throw notFound();
  return deps.db.inOrg(org.id, async (tx) => {
    const invitation = await lockInvitation(tx, org.id, id);
    if (invitation === null) throw notFound();
    const result = await work(tx, invitation);
    await recordEvent(tx, originOf(call), { orgId: org.id, type, resource: resourceOf(invitation) });
    return result;
  });
}

/** The token stands in the fragment: browsers send that to no server, so it reaches no log. */
function issued(deps: InvitationsDeps, invitation: OrgInvitation, secrets: { token: string; pin: string }) {
  return { invitation, redeemUrl: `${deps.publicUrl}/join#token=${secrets.token}`, pin: secrets.pin };
}

function requireOpen(invitation: OrgInvitation): void {
  if (isClosed(invitation)) throw new AppError('invitation_closed', 'it was redeemed or cancelled already');
}

function requireCooledDown(invitation: OrgInvitation, now: Date): void {
  const retryAfterSeconds = cooldownLeft(invitation.lastSentAt, now);
  if (retryAfterSeconds > 0)
    throw new AppError('rate_limited', 'it was sent a moment ago', { retryAfterSeconds });
}
