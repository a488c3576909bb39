import type { User as UserRecord } from '@lintel/contract/users';
import type { HandlersOf } from '../../kernel/handler.ts';
import type { StampsOf } from '../../kernel/lifecycle.ts';
import type { UsersService } from './users.service.ts';
import type { User, UserFilter } from './users.store.ts';

type Ids =
  | 'create_user'
  | 'search_users'
  | 'get_user'
  | 'update_user'
  | 'delete_user'
  | 'restore_user'
  | 'hard_delete_user'
  | 'add_roles'
  | 'delete_roles'
  | 'list_org_users';

export function userRoutes(users: UsersService, stampsOf: StampsOf): HandlersOf<Ids> {
  const toRecord = (user: User) => recordOf(user, stampsOf);
  const toPage = (page: { items: User[]; total: number }) => ({
    items: page.items.map(toRecord),
    total: page.total,
  });
  return {
    create_user: async ({ call, org, body }) => toRecord(await users.create(call, org, body)),
    search_users: async ({ call, org, query }) =>
      toPage(
        await users.search(call, org, {
          ...(query.q === undefined ? {} : { q: query.q }),
          ...(query.org_id === undefined ? {} : { orgId: query.org_id }),
          ...(query.exclude_ids === undefined ? {} : { excludeIds: query.exclude_ids }),
          everyone: query.scope === 'all',
          ...pageOf(query),
        }),
      ),
    get_user: async ({ call, org, params, query }) =>
      toRecord(await users.get(call, org, params.id, query.include_deleted ?? false)),
    update_user: async ({ call, org, params, body }) =>
      toRecord(await users.update(call, org, params.id, body)),
    delete_user: async ({ call, org, params }) => toRecord(await users.delete(call, org, params.id)),
    restore_user: async ({ call, org, params }) => toRecord(await users.restore(call, org, params.id)),
    hard_delete_user: async ({ call, org, params }) => toRecord(await users.purge(call, org, params.id)),
    add_roles: async ({ call, org, params, body }) =>
      toRecord(await users.addRoles(call, org, params.id, body)),
    delete_roles: async ({ call, org, params, body }) =>
      toRecord(await users.removeRoles(call, org, params.id, body)),
    list_org_users: async ({ call, org, query }) =>
      toPage(
        await users.list(call, org, {
          recursive: query.recursive ?? false,
          deleted: deletedOf(query),
          ...pageOf(query),
        }),
      ),
  };
}

function pageOf(query: { limit?: number; offset?: number }) {
  return { limit: query.limit ?? 50, offset: query.offset ?? 0 };
}

function deletedOf(query: { include_deleted?: boolean; only_deleted?: boolean }): UserFilter['deleted'] {
  if (query.only_deleted) return 'only';
  return query.include_deleted ? 'shown' : 'hidden';
}

function recordOf(user: User, stampsOf: StampsOf): UserRecord {
  return {
    id: user.id,
    name: user.name,
    email: user.email,
    email_is_synthetic: user.emailIsSynthetic,
    phone: user.phone,
    locale: user.locale,
    roles: user.roles,
    ...stampsOf(user),
  };
}
