import { AppError } from '../../kernel/app-error.ts';
import type { Call, OrgScope } from '../../kernel/call.ts';
import { changeUser, requireOtherRootAdmin, requireWholeUser, type UsersDeps } from './user-change.ts';
import { deleteUser, retireUserId, setDeleted, type User } from './users.store.ts';

export function softDeleteUser(deps: UsersDeps, call: Call, org: OrgScope, id: string): Promise<User> {
  return changeUser(deps, call, org, id, {
    type: 'user.deleted',
    work: async (change) => {
      await requireWholeUser(change);
      await requireOtherRootAdmin(change, deps.rootOrgId);
      await setDeleted(change.tx, id, true);
      await deps.accounts.revokeSessionsOfUser(change.tx, id);
      return {};
    },
  });
}

export function restoreUser(deps: UsersDeps, call: Call, org: OrgScope, id: string): Promise<User> {
  return changeUser(deps, call, org, id, {
    type: 'user.restored',
    includeDeleted: true,
    work: async (change) => {
      if (change.user.deletedAt === null) throw new AppError('not_deleted', 'the user is not deleted');
      await requireWholeUser(change);
      await setDeleted(change.tx, id, false);
      return {};
    },
  });
}

export function purgeUser(deps: UsersDeps, call: Call, org: OrgScope, id: string): Promise<User> {
  return changeUser(deps, call, org, id, {
    type: 'user.purged',
    includeDeleted: true,
    work: async (change) => {
      await requireWholeUser(change);
      await requireOtherRootAdmin(change, deps.rootOrgId);
      // Bumps the epochs of all their organizations in one order, before the cascades do it table by table.
      await setDeleted(change.tx, id, true);
      await deps.accounts.deleteIdentitiesOfUser(change.tx, id);
      await deleteUser(change.tx, id);
      await retireUserId(change.tx, id);
      return {};
    },
  });
}
