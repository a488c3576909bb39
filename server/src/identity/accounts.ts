import { randomUUID } from 'node:crypto';
import type { Tx } from '../db/database.ts';
import { AppError, invalid, notFound } from '../kernel/app-error.ts';
import { generateToken, type Secret } from '../kernel/secret.ts';
import { insertCode } from './code.store.ts';
import { hashCredential } from './credentials-hash.ts';
import {
  deleteIdentitiesOf,
  deleteIdentity,
  findByAddress,
  findByUser,
  insertIdentity,
  lockAddress,
  updatePasswordHash,
  updateTraitsOf,
} from './identity.store.ts';
import { builtinIssuer } from './identity-model.ts';
import { judgePassword } from './password.rules.ts';
import type { PasswordHasher } from './password-hash.ts';
import { revokeOtherSessions, revokeSessionsOf } from './session.store.ts';
import { passwordRefused } from './ui-messages.ts';
import { deleteLinksOf, linkIdentity } from './user-link.store.ts';

export interface Person {
  readonly userId: string;
  /** Normalized (kernel/email.ts). */
  readonly email: string;
}

export interface NewAccount {
  readonly email: string;
  readonly name: string | null;
  readonly password?: string | null;
}

export interface Traits {
  readonly email?: string;
  readonly name?: string;
}

/** What other parts do to people's identities, always in their own transaction. */
export interface Accounts {
  /** An identity that stands for the user at once. Without a password they come in by a sign-in link. */
  createIdentity(tx: Tx, account: NewAccount, userId: string): Promise<void>;
  /** Ends every session of the user. */
  setPassword(tx: Tx, userId: string, password: string): Promise<void>;
  updateTraits(tx: Tx, userId: string, traits: Traits): Promise<void>;
  revokeSessionsOfUser(tx: Tx, userId: string): Promise<void>;
  /** Before the user's row goes. */
  deleteIdentitiesOfUser(tx: Tx, userId: string): Promise<void>;
}

interface SecretDeps {
  readonly pepper: Secret;
}

const codeLifetimeSeconds = 86_400;

export function createBuiltinAccounts(passwords: PasswordHasher): Accounts {
  return {
    createIdentity: (tx, account, userId) => createIdentity(passwords, tx, account, userId),
    setPassword: (tx, userId, password) => setPassword(passwords, tx, userId, password),
    updateTraits,
    async revokeSessionsOfUser(tx, userId) {
      await revokeSessionsOf(tx, userId);
    },
    async deleteIdentitiesOfUser(tx, userId) {
      await deleteIdentitiesOf(tx, userId);
      await deleteLinksOf(tx, userId);
    },
  };
}

/** Signs the person in once, within a day. Whoever has no identity yet gets one without a password. */
export async function createSignInLink(
  deps: SecretDeps & { readonly baseUrl: string },
  tx: Tx,
  { userId, email }: Person,
): Promise<string> {
  const known = await findByUser(tx, userId);
  const identityId = known?.id ?? (await insertLinked(tx, { email, name: null, passwordHash: null }, userId));
  const code = generateToken();
  const target = { identityId, email: null, userId: null };
  await insertCode(tx, hashCredential(deps.pepper, 'sign_in', code), 'sign_in', target, codeLifetimeSeconds);
  return `${deps.baseUrl}/sign-in?code=${code}`;
}

/** A first-run code: lets one person register, within a day, as this user who has no identity yet. */
export async function createRegistrationCode(deps: SecretDeps, tx: Tx, person: Person): Promise<string> {
  const code = generateToken();
  const codeHash = hashCredential(deps.pepper, 'registration', code);
  await insertCode(tx, codeHash, 'registration', { ...person, identityId: null }, codeLifetimeSeconds);
  return code;
}

async function createIdentity(
  passwords: PasswordHasher,
  tx: Tx,
  { email, name, password = null }: NewAccount,
  userId: string,
): Promise<void> {
  const passwordHash = password === null ? null : await hashAccepted(passwords, password, email);
  await insertLinked(tx, { email, name, passwordHash }, userId);
}

async function insertLinked(
  tx: Tx,
  identity: { email: string; name: string | null; passwordHash: string | null },
  userId: string,
): Promise<string> {
  await clearAddress(tx, identity.email, userId);
  const id = randomUUID();
  await insertIdentity(tx, { ...identity, id, emailVerified: true });
  await linkIdentity(tx, builtinIssuer, id, userId);
  return id;
}

/** One that nobody was linked to yet gives way: it holds no rights, and its password is not the user's. */
async function clearAddress(tx: Tx, email: string, userId: string): Promise<void> {
  await lockAddress(tx, email);
  const present = await findByAddress(tx, email);
  if (present === null || present.userId === userId) return;
  if (present.userId !== null) throw new AppError('already_exists', 'another person has this address');
  await deleteIdentity(tx, present.id);
}

async function setPassword(
  passwords: PasswordHasher,
  tx: Tx,
  userId: string,
  password: string,
): Promise<void> {
  const identity = await findByUser(tx, userId);
  if (identity === null) throw notFound();
  await updatePasswordHash(tx, identity.id, await hashAccepted(passwords, password, identity.email));
  await revokeOtherSessions(tx, identity.id, null);
}

async function updateTraits(tx: Tx, userId: string, traits: Traits): Promise<void> {
  if (traits.email !== undefined) await clearAddress(tx, traits.email, userId);
  await updateTraitsOf(tx, userId, traits);
}

async function hashAccepted(passwords: PasswordHasher, password: string, email: string): Promise<string> {
  const verdict = judgePassword(password, email);
  if (!verdict.ok) throw invalid('/password', passwordRefused(verdict.problem).text);
  return passwords.hash(password);
}

/** People, passwords and sessions live at the provider; here are only the links to them. */
export function createExternalAccounts(): Accounts {
  const refusePassword = () => invalid('/password', 'is kept by the external identity provider');
  return {
    async createIdentity(_tx, account) {
      if (account.password != null) throw refusePassword();
    },
    async setPassword() {
      throw refusePassword();
    },
    async updateTraits() {},
    // The session goes on there, but it stands for nobody here.
    async revokeSessionsOfUser() {},
    deleteIdentitiesOfUser: deleteLinksOf,
  };
}
