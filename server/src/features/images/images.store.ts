import type { ImageKind } from '@lintel/contract/images';
import type { Tx } from '../../db/database.ts';
import { type SqlQuery, sql } from '../../db/sql.ts';
import type { ImageName } from '../../media/stored-image.ts';

/** The record an image is of, and the organization that holds the image. */
export interface ImageOwner {
  readonly kind: ImageKind;
  readonly id: string;
  readonly orgId: string;
}

/** Held until the end of the transaction, so that a record can not be purged while it gets an image. */
export async function lockLiveOwner(tx: Tx, owner: ImageOwner): Promise<boolean> {
  return (await tx.maybeOne(sql`${liveOwner(owner)} for key share`)) !== null;
}

export async function isLiveOwner(tx: Tx, owner: ImageOwner): Promise<boolean> {
  return (await tx.maybeOne(liveOwner(owner))) !== null;
}

function liveOwner({ kind, id, orgId }: ImageOwner): SqlQuery {
  switch (kind) {
    case 'device':
      return sql`select id from devices where org_id = ${orgId} and id = ${id} and deleted_at is null`;
    case 'entity':
      return sql`select id from entities where org_id = ${orgId} and id = ${id} and deleted_at is null`;
    case 'integration':
      return sql`select id from integrations where org_id = ${orgId} and id = ${id} and deleted_at is null`;
    case 'user':
      return sql`select id from users where id = ${id} and deleted_at is null`;
    case 'org':
      return sql`select id from orgs where id = ${id} and deleted_at is null`;
  }
}

export interface StoredImage extends ImageName {
  readonly width: number;
  readonly height: number;
}

export function findImage(tx: Tx, { kind, id, orgId }: ImageOwner): Promise<StoredImage | null> {
  return tx.maybeOne<StoredImage>(sql`
    select org_id as "orgId", id, width, height from images where org_id = ${orgId} and kind = ${kind} and resource_id = ${id}`);
}

export async function isImage(tx: Tx, { orgId, id }: ImageName): Promise<boolean> {
  return (await tx.maybeOne(sql`select id from images where org_id = ${orgId} and id = ${id}`)) !== null;
}

export interface NewImage {
  readonly id: string;
  readonly width: number;
  readonly height: number;
}

/** In place of the one there is; a trigger notes the objects of that one as unused. */
export async function putImageRow(tx: Tx, owner: ImageOwner, image: NewImage): Promise<void> {
  await tx.execute(sql`
    insert into images (org_id, id, kind, resource_id, width, height)
    values (${owner.orgId}, ${image.id}, ${owner.kind}, ${owner.id}, ${image.width}, ${image.height})
    on conflict (org_id, kind, resource_id)
    do update set id = excluded.id, width = excluded.width, height = excluded.height, created_at = now()`);
}

export async function deleteImageRow(tx: Tx, { kind, id, orgId }: ImageOwner): Promise<boolean> {
  const rows = await tx.execute(
    sql`delete from images where org_id = ${orgId} and kind = ${kind} and resource_id = ${id}`,
  );
  return rows > 0;
}
