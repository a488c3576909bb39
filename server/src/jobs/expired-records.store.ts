import type { Tx } from '../db/database.ts';
import { type SqlQuery, sql } from '../db/sql.ts';

/** In the order in which they go: parts before what they hang on. */
export const expiringKinds = ['entity', 'device', 'zone', 'integration', 'user', 'org'] as const;
export type ExpiringKind = (typeof expiringKinds)[number];

export interface ExpiredRecord {
  /** Null for people, who are of no single organization. */
  readonly orgId: string | null;
  readonly id: string;
}

const sources: Readonly<Record<ExpiringKind, SqlQuery>> = {
  entity: sql`select r.org_id as "orgId", r.id from entities r`,
  device: sql`select r.org_id as "orgId", r.id from devices r`,
  zone: sql`select r.org_id as "orgId", r.id from zones r`,
  integration: sql`select r.org_id as "orgId", r.id from integrations r`,
  user: sql`select null as "orgId", r.id from users r`,
  org: sql`select r.id as "orgId", r.id from orgs r`,
};

/** Those deleted more than so many days ago, the youngest of a tree first. */
export function listExpired(
  tx: Tx,
  kind: ExpiringKind,
  days: number,
  page: { readonly limit: number; readonly offset: number },
): Promise<ExpiredRecord[]> {
  return tx.query<ExpiredRecord>(sql`
    ${sources[kind]} where r.deleted_at < now() - make_interval(days => ${days}::int)
    order by r.created_at desc, r.id desc limit ${page.limit} offset ${page.offset}`);
}
