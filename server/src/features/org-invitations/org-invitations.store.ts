import type { Role } from '@lintel/contract/roles';
import type { Tx } from '../../db/database.ts';
import { sql } from '../../db/sql.ts';

export interface OrgInvitation {
  readonly orgId: string;
  readonly id: string;
  readonly email: string;
  readonly defaultRoles: Role[];
  readonly pinHash: Buffer;
  readonly pinFailures: number;
  readonly invitedByUserId: string;
  readonly acceptedUserId: string | null;
  readonly sentCount: number;
  readonly lastSentAt: Date;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly redeemedAt: Date | null;
  readonly cancelledAt: Date | null;
}

export interface NewInvitation {
  readonly orgId: string;
  readonly id: string;
  readonly email: string;
  readonly defaultRoles: readonly Role[];
  readonly tokenHash: Buffer;
  readonly pinHash: Buffer;
  readonly invitedByUserId: string;
  readonly now: Date;
  readonly expiresAt: Date;
}

export interface InvitedOrg {
  readonly name: Record<string, string>;
  readonly path: readonly string[];
  readonly defaultLocale: string;
}

const columns = sql`
  i.org_id as "orgId", i.id, i.email, i.default_roles as "defaultRoles", i.pin_hash as "pinHash",
  i.pin_failures as "pinFailures", i.invited_by_user_id as "invitedByUserId",
  i.accepted_user_id as "acceptedUserId", i.sent_count as "sentCount", i.last_sent_at as "lastSentAt",
  i.created_at as "createdAt", i.expires_at as "expiresAt", i.redeemed_at as "redeemedAt",
  i.cancelled_at as "cancelledAt"`;

export function insertInvitation(tx: Tx, invitation: NewInvitation): Promise<OrgInvitation> {
  return tx.one<OrgInvitation>(sql`
    insert into org_invitations as i (org_id, id, email, default_roles, token_hash, pin_hash, invited_by_user_id,
      last_sent_at, created_at, expires_at)
    values (${invitation.orgId}, ${invitation.id}, ${invitation.email}, ${invitation.defaultRoles},
      ${invitation.tokenHash}, ${invitation.pinHash}, ${invitation.invitedByUserId}, ${invitation.now},
      ${invitation.now}, ${invitation.expiresAt})
    returning ${columns}`);
}

export function listInvitations(tx: Tx, orgId: string): Promise<OrgInvitation[]> {
  return tx.query<OrgInvitation>(sql`
    select ${columns} from org_invitations i where i.org_id = ${orgId} order by i.created_at desc, i.id desc`);
}

export function lockInvitation(tx: Tx, orgId: string, id: string): Promise<OrgInvitation | null> {
  return tx.maybeOne<OrgInvitation>(sql`
    select ${columns} from org_invitations i where i.org_id = ${orgId} and i.id = ${id} for update`);
}

export function findByToken(tx: Tx, tokenHash: Buffer): Promise<OrgInvitation | null> {
  return tx.maybeOne<OrgInvitation>(sql`
    select ${columns} from org_invitations i where i.token_hash = ${tokenHash}`);
}

/** Locked, so that guesses at the PIN are counted one after the other, however many arrive at once. */
export function lockByToken(tx: Tx, tokenHash: Buffer): Promise<OrgInvitation | null> {
  return tx.maybeOne<OrgInvitation>(sql`
    select ${columns} from org_invitations i where i.token_hash = ${tokenHash} for update`);
}

const selectInvitedOrg = (orgId: string) => sql`
  select o.name, o.path, o.default_locale as "defaultLocale" from orgs o
  where o.id = ${orgId} and o.deleted_at is null`;

/** Null when deleted. */
export function findInvitedOrg(tx: Tx, orgId: string): Promise<InvitedOrg | null> {
  return tx.maybeOne<InvitedOrg>(selectInvitedOrg(orgId));
}

/** Held until the end, so that it is not purged while somebody joins. */
export function holdInvitedOrg(tx: Tx, orgId: string): Promise<InvitedOrg | null> {
  return tx.maybeOne<InvitedOrg>(sql`${selectInvitedOrg(orgId)} for key share`);
}

export interface Renewal {
  readonly tokenHash: Buffer;
  readonly pinHash: Buffer;
  readonly invitedByUserId: string;
  readonly now: Date;
  readonly expiresAt: Date;
}

export function renewInvitation(tx: Tx, orgId: string, id: string, renewal: Renewal): Promise<OrgInvitation> {
  return tx.one<OrgInvitation>(sql`
    update org_invitations as i set token_hash = ${renewal.tokenHash}, pin_hash = ${renewal.pinHash},
      pin_failures = 0, invited_by_user_id = ${renewal.invitedByUserId}, sent_count = i.sent_count + 1,
      last_sent_at = ${renewal.now}, expires_at = ${renewal.expiresAt}
    where i.org_id = ${orgId} and i.id = ${id} returning ${columns}`);
}

export async function cancelInvitation(tx: Tx, orgId: string, id: string, now: Date): Promise<void> {
  await tx.execute(sql`
    update org_invitations set cancelled_at = ${now} where org_id = ${orgId} and id = ${id}`);
}

/** The last failure allowed also cancels. */
export async function countPinFailure(
  tx: Tx,
  invitation: OrgInvitation,
  limit: number,
  now: Date,
): Promise<number> {
  const row = await tx.one<{ failures: number }>(sql`
    update org_invitations as i set pin_failures = i.pin_failures + 1,
      cancelled_at = case when i.pin_failures + 1 >= ${limit}::int then ${now}::timestamptz end
    where i.org_id = ${invitation.orgId} and i.id = ${invitation.id}
    returning i.pin_failures as failures`);
  return row.failures;
}

/** The one statement that spends an invitation; false when it was spent, cancelled or too late. */
export async function spendInvitation(
  tx: Tx,
  invitation: OrgInvitation,
  userId: string,
  now: Date,
): Promise<boolean> {
  const spent = await tx.execute(sql`
    update org_invitations set redeemed_at = ${now}, accepted_user_id = ${userId}
    where org_id = ${invitation.orgId} and id = ${invitation.id}
      and redeemed_at is null and cancelled_at is null and expires_at > ${now}`);
  return spent === 1;
}

export async function deleteInvitation(tx: Tx, orgId: string, id: string): Promise<void> {
  await tx.execute(sql`delete from org_invitations where org_id = ${orgId} and id = ${id}`);
}
