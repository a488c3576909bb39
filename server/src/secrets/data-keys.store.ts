import type { Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { WrappedKey } from './envelope.ts';

const columns = sql`k.org_id as "orgId", k.id, k.kid, k.wrapped`;

/**
 * The organization's active key, held against a rotation until the end of the transaction. Null where there is none,
 * and also for an instant after a rotation that this statement had to wait for.
 */
export function takeActiveKey(tx: Tx, orgId: string, encryptions: number): Promise<WrappedKey | null> {
  return tx.maybeOne<WrappedKey>(sql`
    update secrets.data_keys k set encryptions = k.encryptions + ${encryptions}
    where k.org_id = ${orgId} and k.state = 'active' returning ${columns}`);
}

/** One maker at a time, so that the loser finds the winner's key instead of a conflict. */
export async function lockKeysOf(tx: Tx, orgId: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`lintel data keys ${orgId}`}, 0))`);
}

export async function hasActiveKey(tx: Tx, orgId: string): Promise<boolean> {
  const { found } = await tx.one<{ found: boolean }>(sql`
    select exists (select from secrets.data_keys where org_id = ${orgId} and state = 'active') as found`);
  return found;
}

/** The key encryption key may be new to the database: whoever uses it first puts it on record. */
export async function insertActiveKey(tx: Tx, key: WrappedKey): Promise<void> {
  await insertKid(tx, key.kid);
  await tx.execute(sql`
    insert into secrets.data_keys (org_id, id, kid, wrapped)
    values (${key.orgId}, ${key.id}, ${key.kid}, ${key.wrapped})`);
}

/** How many are active and how many are left over from a rotation. */
export function countKeys(tx: Tx, orgId: string): Promise<{ active: number; retiring: number }> {
  return tx.one(sql`
    select count(*) filter (where state = 'active') as active, count(*) filter (where state = 'retiring') as retiring
    from secrets.data_keys where org_id = ${orgId}`);
}

export async function retireActiveKey(tx: Tx, orgId: string): Promise<void> {
  await tx.execute(sql`
    update secrets.data_keys set state = 'retiring' where org_id = ${orgId} and state = 'active'`);
}

/** Those without values: nothing new is written under them. */
export async function deleteRetiredKeys(tx: Tx, orgId: string): Promise<void> {
  await tx.execute(sql`
    delete from secrets.data_keys k where k.org_id = ${orgId} and k.state = 'retiring' and not exists (
      select from secrets.secret_values v where v.org_id = k.org_id and v.data_key_id = k.id)`);
}

/** Keys that another key encryption key wraps; in one order, so that two rotations never deadlock. */
export function lockKeysUnderOthers(tx: Tx, kid: string, limit: number): Promise<WrappedKey[]> {
  return tx.query<WrappedKey>(sql`
    select ${columns} from secrets.data_keys k where k.kid <> ${kid}
    order by k.org_id, k.id limit ${limit} for update`);
}

export async function updateWrapping(tx: Tx, key: WrappedKey): Promise<void> {
  await tx.execute(sql`
    update secrets.data_keys set kid = ${key.kid}, wrapped = ${key.wrapped}
    where org_id = ${key.orgId} and id = ${key.id}`);
}

export async function lockKids(tx: Tx): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('lintel key encryption keys', 0))`);
}

/** Every key encryption key there ever was, with the number of data keys it wraps now. */
export function listKids(tx: Tx): Promise<{ kid: string; dataKeys: number }[]> {
  return tx.query(sql`
    select e.kid, count(k.id) as "dataKeys" from secrets.key_encryption_keys e
    left join secrets.data_keys k on k.kid = e.kid group by e.kid order by e.kid`);
}

export async function insertKid(tx: Tx, kid: string): Promise<void> {
  await tx.execute(
    sql`insert into secrets.key_encryption_keys (kid) values (${kid}) on conflict (kid) do nothing`,
  );
}

export async function listOrgsWithKeys(tx: Tx): Promise<string[]> {
  const rows = await tx.query<{ orgId: string }>(sql`
    select distinct org_id as "orgId" from secrets.data_keys order by org_id`);
  return rows.map(({ orgId }) => orgId);
}
