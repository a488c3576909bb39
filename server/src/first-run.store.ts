import type { Tx } from './db/database.ts';
import { sql } from './db/sql.ts';

export interface Installation {
  readonly rootOrgId: string;
  readonly homeOrgId: string;
  readonly pepperCheck: Buffer;
}

export interface Administrator {
  readonly userId: string;
  readonly email: string;
}

/** Of two nodes that start at once on an empty database, one waits here and then finds what the other made. */
export async function lockInstallation(tx: Tx): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('lintel installation', 0))`);
}

export function findInstallation(tx: Tx): Promise<Installation | null> {
  return tx.maybeOne<Installation>(sql`
    select i.root_org_id as "rootOrgId", coalesce(i.home_org_id, i.root_org_id) as "homeOrgId",
      i.pepper_check as "pepperCheck"
    from installation i`);
}

export async function insertInstallation(tx: Tx, installation: Installation): Promise<void> {
  const { rootOrgId, homeOrgId, pepperCheck } = installation;
  await tx.execute(sql`
    insert into installation (root_org_id, home_org_id, pepper_check)
    values (${rootOrgId}, ${homeOrgId}, ${pepperCheck})`);
}

export async function insertRootOrg(tx: Tx, id: string, name: Record<string, string>): Promise<void> {
  await tx.execute(sql`insert into orgs (id, path, name) values (${id}, ${[id]}, ${name})`);
}

/** The one with the configured address if there is such an administrator, otherwise the first there was. */
export function findAdministrator(tx: Tx, rootOrgId: string, email: string): Promise<Administrator | null> {
  return tx.maybeOne<Administrator>(sql`
    select u.id as "userId", u.email from role_grants g join users u on u.id = g.user_id
    where g.org_id = ${rootOrgId} and g.role = 'admin' and u.deleted_at is null
    order by u.email = ${email} desc, g.created_at, u.id limit 1`);
}
