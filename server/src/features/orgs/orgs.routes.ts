import type { Organization } from '@lintel/contract/orgs';
import { toRfc3339 } from '../../kernel/clock.ts';
import type { HandlersOf } from '../../kernel/handler.ts';
import type { OrgTreeService } from './org-tree.service.ts';
import type { Described, ListOptions, OrgPage, OrgsService } from './orgs.service.ts';
import type { Org, OrgNode } from './orgs.store.ts';

type ReadIds =
  | 'list_orgs'
  | 'list_org_children'
  | 'search_orgs'
  | 'get_org'
  | 'list_org_ancestors'
  | 'get_org_permissions';
type ChangeIds = 'create_org' | 'update_org' | 'delete_org' | 'restore_org' | 'hard_delete_org';

export function orgRoutes(orgs: OrgsService, tree: OrgTreeService): HandlersOf<ReadIds | ChangeIds> {
  return { ...readRoutes(orgs), ...changeRoutes(tree) };
}

function readRoutes(orgs: OrgsService): HandlersOf<ReadIds> {
  return {
    list_orgs: async ({ call, query }) => toPage(await orgs.list(call, optionsOf(query)), toOrganization),
    list_org_children: async ({ call, query }) =>
      toPage(await orgs.children(call, query.parent_id ?? null, optionsOf(query)), toTreeNode),
    search_orgs: async ({ call, query }) =>
      toPage(await orgs.search(call, query.q, optionsOf(query)), toTreeNode),
    get_org: async ({ call, org, query }) =>
      toOrganization(await orgs.get(call, org, query.include_deleted ?? false)),
    list_org_ancestors: async ({ call, org }) => (await orgs.ancestors(call, org)).map(toOrganization),
    get_org_permissions: async ({ call, org }) => ({ permissions: orgs.permissions(call, org) }),
  };
}

function changeRoutes(tree: OrgTreeService): HandlersOf<ChangeIds> {
  return {
    create_org: async ({ call, body }) => toOrganization(await tree.create(call, body)),
    update_org: async ({ call, org, body }) => toOrganization(await tree.update(call, org, body)),
    delete_org: async ({ call, org }) => toOrganization(await tree.remove(call, org)),
    restore_org: async ({ call, org }) => toOrganization(await tree.restore(call, org)),
    hard_delete_org: async ({ call, org }) => toOrganization(await tree.purge(call, org)),
  };
}

interface ListQuery {
  readonly limit?: number;
  readonly offset?: number;
  readonly include_deleted?: boolean;
  readonly only_deleted?: boolean;
}

function optionsOf(query: ListQuery): ListOptions {
  const withDeleted = query.include_deleted === true ? 'all' : 'live';
  return {
    limit: query.limit ?? 50,
    offset: query.offset ?? 0,
    deletion: query.only_deleted === true ? 'deleted' : withDeleted,
  };
}

function toPage(page: OrgPage, toItem: (org: Described<OrgNode>) => Organization) {
  return { items: page.items.map(toItem), total: page.total };
}

function toTreeNode(org: Described<OrgNode>): Organization {
  return {
    ...toOrganization(org),
    has_children: org.hasChildren,
    ...(org.parentName === null ? {} : { parent_name: { ...org.parentName } }),
  };
}

function toOrganization(org: Described<Org>): Organization {
  return {
    id: org.id,
    name: { ...org.name },
    description: org.description,
    parent_id: org.parentId,
    is_personal: org.isPersonal,
    timezone: org.timezone,
    user_roles: org.userRoles,
    created_at: toRfc3339(org.createdAt),
    updated_at: toRfc3339(org.updatedAt),
    ...(org.deletedAt === null ? {} : { deleted_at: toRfc3339(org.deletedAt) }),
  };
}
