import type { Tx } from '../../db/database.ts';
import { likeContains, nothing, type SqlQuery, sql } from '../../db/sql.ts';

export interface Org {
  readonly id: string;
  readonly parentId: string | null;
  readonly path: readonly string[];
  readonly name: Readonly<Record<string, string>>;
  readonly description: string | null;
  readonly isPersonal: boolean;
  readonly timezone: string | null;
  readonly defaultLocale: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly deletedAt: Date | null;
}

/** An organization with its neighbours, as far as the reader sees them. */
export interface OrgNode extends Org {
  readonly parentName: Readonly<Record<string, string>> | null;
  readonly hasChildren: boolean;
}

/** What a principal may see: organizations they have a role in, and whole subtrees they administer. */
export interface Sight {
  readonly memberOf: readonly string[];
  readonly adminOf: readonly string[];
}

export type DeletionFilter = 'live' | 'all' | 'deleted';

export type OrgFilter =
  | { readonly kind: 'any' }
  /** The roots of the forest that is left when everything out of sight is taken away. */
  | { readonly kind: 'roots' }
  | { readonly kind: 'children'; readonly parentId: string }
  | { readonly kind: 'ids'; readonly ids: readonly string[] }
  /** Part of the name in any language, or exactly the id. */
  | { readonly kind: 'matching'; readonly text: string };

export interface Paging {
  readonly limit: number;
  readonly offset: number;
}

export interface OrgQuery {
  readonly sight: Sight;
  readonly deletion: DeletionFilter;
  readonly filter: OrgFilter;
}

export const orgColumns = sql`
  o.id, o.parent_id as "parentId", o.path, o.name, o.description, o.is_personal as "isPersonal", o.timezone,
  o.default_locale as "defaultLocale", o.created_at as "createdAt", o.updated_at as "updatedAt",
  o.deleted_at as "deletedAt"`;

export function findOrg(tx: Tx, id: string): Promise<Org | null> {
  return tx.maybeOne<Org>(sql`select ${orgColumns} from orgs o where o.id = ${id}`);
}

export async function listOrgs(
  tx: Tx,
  query: OrgQuery,
  page: Paging,
): Promise<{ items: OrgNode[]; total: number }> {
  const visible = visibleOrgs(query);
  const source = sql`visible o left join visible p on p.id = o.parent_id where ${conditionOf(query)}`;
  const { total } = await tx.one<{ total: number }>(sql`${visible} select count(*) as total from ${source}`);
  const items = await tx.query<OrgNode>(sql`
    ${visible}
    select ${orgColumns}, p.name as "parentName",
      exists (select from visible c where c.parent_id = o.id) as "hasChildren"
    from ${source} order by o.created_at, o.id limit ${page.limit} offset ${page.offset}`);
  return { items, total };
}

/** Not materialized, so that a page of children does not read a platform administrator's whole tree. */
function visibleOrgs({ sight, deletion }: OrgQuery): SqlQuery {
  return sql`
    with visible as not materialized (
      select v.* from orgs v
      where (v.id = any (${sight.memberOf}::text[]) or v.path && ${sight.adminOf}::text[])
        ${deletion === 'live' ? sql`and v.deleted_at is null` : nothing}
    )`;
}

function conditionOf({ filter, deletion }: OrgQuery): SqlQuery {
  const condition = filterCondition(filter);
  return deletion === 'deleted' ? sql`${condition} and o.deleted_at is not null` : condition;
}

function filterCondition(filter: OrgFilter): SqlQuery {
  switch (filter.kind) {
    case 'any':
      return sql`true`;
    case 'roots':
      return sql`p.id is null`;
    case 'children':
      return sql`o.parent_id = ${filter.parentId}`;
    case 'ids':
      return sql`o.id = any (${filter.ids}::text[])`;
    case 'matching':
      return sql`(o.id = ${filter.text} or exists (
        select from jsonb_each_text(o.name) t where t.value ilike ${likeContains(filter.text)}))`;
  }
}

export type RolesByUser = Readonly<Record<string, string[]>>;

/** org id → user id → roles, of live users. */
export async function rolesOfOrgs(tx: Tx, orgIds: readonly string[]): Promise<Map<string, RolesByUser>> {
  const rows = await tx.query<{ orgId: string; roles: RolesByUser }>(sql`
    select held.org_id as "orgId", jsonb_object_agg(held.user_id, held.roles) as roles
    from (
      select g.org_id, g.user_id, array_agg(g.role order by g.role) as roles
      from role_grants g join users u on u.id = g.user_id
      where g.org_id = any (${orgIds}::text[]) and u.deleted_at is null
      group by g.org_id, g.user_id
    ) held group by held.org_id`);
  return new Map(rows.map((row) => [row.orgId, row.roles]));
}
