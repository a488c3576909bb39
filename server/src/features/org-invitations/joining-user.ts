import { belongsElsewhere } from '../../auth/role-grants.store.ts';
import type { Tx } from '../../db/database.ts';
import { AppError } from '../../kernel/app-error.ts';
import type { IdentitySession, RoleGrant } from '../../kernel/call.ts';
import { cleanText } from '../../kernel/text.ts';
import { ulid } from '../../kernel/ulid.ts';
import { findLinkedUser, holdUserByEmail, insertJoiningUser, linkIdentity } from './joining-user.store.ts';

export interface Joining {
  readonly session: IdentitySession;
  readonly email: string;
  readonly defaultLocale: string;
  readonly inviterGrants: readonly RoleGrant[];
}

export interface JoinedUser {
  readonly id: string;
  readonly isNew: boolean;
}

/** The user behind a session; one is made for an identity that stands for nobody yet. */
export async function userOfSession(tx: Tx, joining: Joining): Promise<JoinedUser> {
  const known = await knownUser(tx, joining);
  if (known !== null) return { id: known, isNew: false };
  const id = ulid();
  const name = { [joining.defaultLocale]: nameOf(joining) };
  if (await insertJoiningUser(tx, { id, email: joining.email, name })) {
    await linkIdentity(tx, joining.session, id);
    return { id, isNew: true };
  }
  // Another request of the same person was quicker: its user is there now.
  const made = await knownUser(tx, joining);
  if (made === null) throw addressTaken();
  return { id: made, isNew: false };
}

async function knownUser(tx: Tx, joining: Joining): Promise<string | null> {
  return (await findLinkedUser(tx, joining.session)) ?? (await adoptUser(tx, joining));
}

/**
 * A user may have been created with this address but without a way to sign in. An invitation by somebody who administers
 * all that the user belongs to gives them to the invited. Anybody else's must not: it would hand over rights in
 * organizations that the inviter has no say in.
 */
async function adoptUser(tx: Tx, joining: Joining): Promise<string | null> {
  const user = await holdUserByEmail(tx, joining.email);
  if (user === null) return null;
  if (user.isLinked || !(await mayAdopt(tx, joining, user.id))) throw addressTaken();
  await linkIdentity(tx, joining.session, user.id);
  return user.id;
}

async function mayAdopt(tx: Tx, { inviterGrants }: Joining, userId: string): Promise<boolean> {
  const administered = inviterGrants.filter((grant) => grant.role === 'admin').map((grant) => grant.orgId);
  return !(await belongsElsewhere(tx, userId, administered, null));
}

function addressTaken(): AppError {
  return new AppError('already_exists', 'another person has this address');
}

function nameOf({ session, email }: Joining): string {
  const name = cleanText(session.name ?? '', { maxLength: 120 });
  return name.ok ? name.text : email;
}
