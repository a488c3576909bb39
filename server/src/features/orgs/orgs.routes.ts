import type { Organization } from '@lintel/contract/orgs';
import type { HandlersOf } from '../../kernel/handler.ts';
import type { StampsOf } from '../../kernel/lifecycle.ts';
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

type ToOrganization = (org: Described<Org>) => Organization;

export function orgRoutes(
  orgs: OrgsService,
  tree: OrgTreeService,
  stampsOf: StampsOf,
): HandlersOf<ReadIds | ChangeIds> {
  const toOrganization: ToOrganization = (org) => recordOf(org, stampsOf);
  return { ...readRoutes(orgs, toOrganization), ...changeRoutes(tree, toOrganization) };
}

function readRoutes(orgs: OrgsService, toOrganization: ToOrganization): HandlersOf<ReadIds> {
  const toTreeNode = (org: Described<OrgNode>) => treeNodeOf(org, toOrganization(org));
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

function changeRoutes(tree: OrgTreeService, toOrganization: ToOrganization): HandlersOf<ChangeIds> {
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

function treeNodeOf(org: Described<OrgNode>, organization: Organization): Organization {
  return {
    ...organization,
    has_children: org.hasChildren,
    ...(org.parentName === null ? {} : { parent_name: { ...org.parentName } }),
  };
}

function recordOf(org: Described<Org>, stampsOf: StampsOf): Organization {
  return {
    id: org.id,
    name: { ...org.name },
    description: org.description,
    parent_id: org.parentId,
    is_personal: org.isPersonal,
    timezone: org.timezone,
    user_roles: org.userRoles,
    ...stampsOf(org),
  };
}
