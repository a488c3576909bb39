import type { Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ImageName } from './stored-image.ts';

/** Noted before anything is written: if no record comes to point at the objects, they are collected after an hour. */
export async function announceObjects(tx: Tx, { orgId, id }: ImageName): Promise<void> {
  await tx.execute(sql`
    insert into unused_objects (owner_org_id, image_id, due_at) values (${orgId}, ${id}, now() + interval '1 hour')`);
}

/** In the transaction that points at the objects. False when they were collected meanwhile. */
export async function claimObjects(tx: Tx, { orgId, id }: ImageName): Promise<boolean> {
  const rows = await tx.execute(
    sql`delete from unused_objects where owner_org_id = ${orgId} and image_id = ${id}`,
  );
  return rows === 1;
}

/** Locked, so that an upload that is just about to claim them waits and then finds them gone. */
export function lockDueObjects(tx: Tx, limit: number): Promise<ImageName[]> {
  return tx.query<ImageName>(sql`
    select owner_org_id as "orgId", image_id as id from unused_objects where due_at <= now()
    order by due_at limit ${limit} for update skip locked`);
}

export async function forgetObjects(tx: Tx, names: readonly ImageName[]): Promise<void> {
  const ids = names.map(({ id }) => id);
  await tx.execute(sql`delete from unused_objects where image_id = any (${ids})`);
}
