import type { EventType } from '@lintel/contract/events';
import { originOf, recordEvent } from '../../audit/audit.store.ts';
import { belongsElsewhere } from '../../auth/role-grants.store.ts';
import type { Database, Tx } from '../../db/database.ts';
import type { Accounts } from '../../identity/accounts.ts';
import { AppError, notFound } from '../../kernel/app-error.ts';
import { type Call, type OrgScope, type Principal, principalOf } from '../../kernel/call.ts';
import { StaleDecision } from '../../kernel/stale-decision.ts';
import { pickText } from '../../kernel/text.ts';
import { isUlid } from '../../kernel/ulid.ts';
import { administeredOrgIds, isInReach, type Reach, reachOf, requireNotAboveCaller } from './users.rules.ts';
import {
  epochOf,
  findUser,
  hasOtherAdmin,
  isAdminOf,
  lockAdministration,
  lockUser,
  type User,
} from './users.store.ts';

/** How people sign in is the identity provider's; what users need of it. */
export type UserAccounts = Pick<
  Accounts,
  'createIdentity' | 'updateTraits' | 'revokeSessionsOfUser' | 'deleteIdentitiesOfUser'
>;

export interface UsersDeps {
  readonly db: Database;
  readonly rootOrgId: string;
  readonly accounts: UserAccounts;
  readonly orgScope: (orgId: string) => Promise<OrgScope | null>;
}

export interface UserChange {
  readonly tx: Tx;
  readonly principal: Principal;
  readonly org: OrgScope;
  readonly user: User;
}

export interface ChangeSpec {
  readonly type: EventType;
  readonly includeDeleted?: boolean;
  /** Returns the details of the event. */
  work(change: UserChange): Promise<Record<string, unknown>>;
}

/**
 * Locks a user the caller can see, changes them and writes the one event, in one transaction. It runs as the service:
 * a user is not of one organization, and whether they belong to others is part of every decision here.
 */
export function changeUser(
  deps: UsersDeps,
  call: Call,
  org: OrgScope,
  id: string,
  spec: ChangeSpec,
): Promise<User> {
  const principal = principalOf(call);
  const reach = reachOf(principal, org, deps.rootOrgId);
  if (!isUlid(id)) return Promise.reject(notFound());
  return deps.db.asService(async (tx) => {
    await lockUser(tx, id);
    const user = await visibleUser(tx, reach, id, spec.includeDeleted ?? false);
    const details = await spec.work({ tx, principal, org, user });
    const resource = { type: 'user', id, name: pickText(user.name, org.defaultLocale) };
    await recordEvent(tx, originOf(call), { orgId: org.id, type: spec.type, resource, details });
    return (await findUser(tx, reach, id)) ?? user;
  });
}

export async function visibleUser(tx: Tx, reach: Reach, id: string, includeDeleted: boolean): Promise<User> {
  const user = await findUser(tx, reach, id);
  if (user === null || !isInReach(reach, user)) throw notFound();
  if (user.deletedAt !== null && !includeDeleted) throw notFound();
  return user;
}

/** What happens to the person, not to a membership, is for those who administer every organization they belong to. */
export async function requireWholeUser({ tx, principal, org, user }: UserChange): Promise<void> {
  requireNotAboveCaller(principal, org, user);
  if (await belongsElsewhere(tx, user.id, administeredOrgIds(principal), org.id)) {
    throw new AppError('user_in_other_orgs', 'the user also belongs to organizations out of your reach');
  }
}

/**
 * INVARIANT: the root organization has a live administrator. All others inherit theirs, so the rule binds there only.
 * Waiting for the lock may have cost the caller their own rights: then the request starts over.
 */
export async function requireOtherRootAdmin(change: UserChange, rootOrgId: string): Promise<void> {
  const { tx, org, user } = change;
  if (!(await isAdminOf(tx, rootOrgId, user.id))) return;
  await lockAdministration(tx, rootOrgId);
  if ((await epochOf(tx, org.id)) !== org.epoch) throw new StaleDecision();
  if (!(await hasOtherAdmin(tx, rootOrgId, user.id))) {
    throw new AppError('last_admin', 'the root organization would be left without an administrator');
  }
}
