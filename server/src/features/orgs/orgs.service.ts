import type { Database, Tx } from '../../db/database.ts';
import { notFound } from '../../kernel/app-error.ts';
import { type Call, type OrgScope, type Principal, principalOf, rolesIn } from '../../kernel/call.ts';
import { cleanText } from '../../kernel/text.ts';
import { isUlid } from '../../kernel/ulid.ts';
import { maxDepth, mayListUsers, ownRoles, sightOf } from './orgs.rules.ts';
import {
  type DeletionFilter,
  findOrg,
  listOrgs,
  type Org,
  type OrgFilter,
  type OrgNode,
  type Paging,
  type RolesByUser,
  rolesOfOrgs,
} from './orgs.store.ts';

export type Described<O extends Org> = O & { readonly userRoles: RolesByUser };

export interface ListOptions extends Paging {
  readonly deletion: DeletionFilter;
}

export interface OrgPage {
  readonly items: Described<OrgNode>[];
  readonly total: number;
}

export interface OrgsService {
  list(call: Call, options: ListOptions): Promise<OrgPage>;
  /** Without a parent: the roots of what the caller sees. */
  children(call: Call, parentId: string | null, options: ListOptions): Promise<OrgPage>;
  search(call: Call, text: string, options: ListOptions): Promise<OrgPage>;
  get(call: Call, org: OrgScope, includeDeleted: boolean): Promise<Described<Org>>;
  ancestors(call: Call, org: OrgScope): Promise<Described<Org>[]>;
  permissions(call: Call, org: OrgScope): string[];
}

export function createOrgsService({ db }: { readonly db: Database }): OrgsService {
  return {
    list: (call, options) => readPage(db, principalOf(call), { kind: 'any' }, options),
    children: (call, parentId, options) =>
      parentId === null
        ? readPage(db, principalOf(call), { kind: 'roots' }, options)
        : readChildren(db, principalOf(call), parentId, options),
    search: (call, text, options) => searchOrgs(db, principalOf(call), text, options),
    get: (call, org, includeDeleted) =>
      db.inOrg(org.id, async (tx) => {
        const found = await findOrg(tx, org.id);
        if (found === null || (found.deletedAt !== null && !includeDeleted)) throw notFound();
        return describeOrg(tx, principalOf(call), found);
      }),
    ancestors: (call, org) => readAncestors(db, principalOf(call), org),
    permissions: (call, org) => [...rolesIn(principalOf(call), org)].sort(),
  };
}

/** Adds who has which roles: everyone's for those who may list the users, otherwise the caller's own. */
export async function describeOrgs<O extends Org>(
  tx: Tx,
  principal: Principal,
  orgs: readonly O[],
): Promise<Described<O>[]> {
  const open = orgs.filter((org) => mayListUsers(principal, org)).map((org) => org.id);
  const roles = open.length === 0 ? new Map<string, RolesByUser>() : await rolesOfOrgs(tx, open);
  return orgs.map((org) => ({
    ...org,
    userRoles: open.includes(org.id) ? (roles.get(org.id) ?? {}) : ownRoles(principal, org),
  }));
}

export async function describeOrg(tx: Tx, principal: Principal, org: Org): Promise<Described<Org>> {
  const [described] = await describeOrgs(tx, principal, [org]);
  if (described === undefined) throw notFound();
  return described;
}

/**
 * As the service, because what a caller sees can be any part of the tree and is not known before it is read. Every
 * read goes through the caller's sight.
 */
function readPage(
  db: Database,
  principal: Principal,
  filter: OrgFilter,
  options: ListOptions,
): Promise<OrgPage> {
  return db.asService((tx) => pageOf(tx, principal, filter, options));
}

async function pageOf(
  tx: Tx,
  principal: Principal,
  filter: OrgFilter,
  options: ListOptions,
): Promise<OrgPage> {
  const query = { sight: sightOf(principal), deletion: options.deletion, filter };
  const { items, total } = await listOrgs(tx, query, options);
  return { items: await describeOrgs(tx, principal, items), total };
}

function readChildren(
  db: Database,
  principal: Principal,
  parentId: string,
  options: ListOptions,
): Promise<OrgPage> {
  if (!isUlid(parentId)) throw notFound();
  // As above: children are other organizations.
  return db.asService(async (tx) => {
    const deletion = options.deletion === 'live' ? 'live' : 'all';
    const parent = { sight: sightOf(principal), deletion, filter: { kind: 'ids', ids: [parentId] } } as const;
    const { total } = await listOrgs(tx, parent, { limit: 0, offset: 0 });
    if (total === 0) throw notFound();
    return pageOf(tx, principal, { kind: 'children', parentId }, options);
  });
}

async function searchOrgs(
  db: Database,
  principal: Principal,
  text: string,
  options: ListOptions,
): Promise<OrgPage> {
  // The same cleaning names go through: what it refuses (blank, invisible characters) no name contains.
  const cleaned = cleanText(text, { maxLength: 200 });
  if (!cleaned.ok) return { items: [], total: 0 };
  return readPage(db, principal, { kind: 'matching', text: cleaned.text }, options);
}

async function readAncestors(db: Database, principal: Principal, org: OrgScope): Promise<Described<Org>[]> {
  const filter = { kind: 'ids', ids: org.path.filter((id) => id !== org.id) } as const;
  const page = { deletion: 'live', limit: maxDepth, offset: 0 } as const;
  const { items } = await readPage(db, principal, filter, page);
  return items.toSorted((a, b) => a.path.length - b.path.length);
}
