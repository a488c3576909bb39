import type { ImageKind, ImageSize } from '@lintel/contract/images';
import { originOf, recordEvent } from '../../audit/audit.store.ts';
import type { Database } from '../../db/database.ts';
import { AppError, notFound } from '../../kernel/app-error.ts';
import { type Call, entityLimit, type OrgScope, principalOf } from '../../kernel/call.ts';
import { ulid } from '../../kernel/ulid.ts';
import type { ImageCodec } from '../../media/image-codec.ts';
import type { ObjectStore } from '../../media/object-store.ts';
import type { SignedUrl, SignedUrls } from '../../media/signed-urls.ts';
import { objectKey, parseObjectKey, putImage } from '../../media/stored-image.ts';
import { announceObjects, claimObjects } from '../../media/unused-objects.store.ts';
import {
  deleteImageRow,
  findImage,
  type ImageOwner,
  isImage,
  isLiveOwner,
  lockLiveOwner,
  putImageRow,
} from './images.store.ts';

export interface ImagesDeps {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly codec: ImageCodec;
  readonly urls: SignedUrls;
  readonly rootOrgId: string;
  /** Throws 404 for people the caller can not see: that rule is of the users, who are of no single organization. */
  readonly requireUser: (call: Call, org: OrgScope, id: string) => Promise<unknown>;
}

export interface ImagesService {
  /** Null without an image. */
  url(call: Call, org: OrgScope, kind: ImageKind, id: string, size: ImageSize): Promise<SignedUrl | null>;
  upload(call: Call, org: OrgScope, kind: ImageKind, id: string, bytes: Uint8Array): Promise<SignedUrl>;
  delete(call: Call, org: OrgScope, kind: ImageKind, id: string): Promise<void>;
  /** For whoever holds a signed address; null for anything that is not one, or no more. */
  read(key: string, expires: unknown, signature: unknown): Promise<Uint8Array | null>;
}

export function createImagesService(deps: ImagesDeps): ImagesService {
  return {
    url: (call, org, kind, id, size) => readUrl(deps, call, org, { kind, id }, size),
    upload: (call, org, kind, id, bytes) => upload(deps, call, org, { kind, id }, bytes),
    delete: (call, org, kind, id) => remove(deps, call, org, { kind, id }),
    read: (key, expires, signature) => readObject(deps, key, expires, signature),
  };
}

type Target = Pick<ImageOwner, 'kind' | 'id'>;

/** The record, if the caller may know of it. */
async function ownerOf(deps: ImagesDeps, call: Call, org: OrgScope, target: Target): Promise<ImageOwner> {
  if (target.kind === 'user') {
    await deps.requireUser(call, org, target.id);
    return { ...target, orgId: deps.rootOrgId };
  }
  const limit = target.kind === 'entity' ? entityLimit(principalOf(call)) : null;
  if (limit !== null && !limit.includes(target.id)) throw notFound();
  return { ...target, orgId: org.id };
}

async function readUrl(deps: ImagesDeps, call: Call, org: OrgScope, target: Target, size: ImageSize) {
  const owner = await ownerOf(deps, call, org, target);
  const image = await deps.db.inOrg(owner.orgId, async (tx) => {
    if (!(await isLiveOwner(tx, owner))) throw notFound();
    return findImage(tx, owner);
  });
  return image === null ? null : deps.urls.sign(objectKey(image, size));
}

/**
 * The objects are written before the row that makes them reachable, and announced before they are written: whatever
 * fails in between, they are collected.
 */
async function upload(deps: ImagesDeps, call: Call, org: OrgScope, target: Target, bytes: Uint8Array) {
  const { db } = deps;
  const owner = await ownerOf(deps, call, org, target);
  await db.inOrg(owner.orgId, async (tx) => {
    if (!(await isLiveOwner(tx, owner))) throw notFound();
  });
  const image = await deps.codec.encode(bytes);
  const name = { orgId: owner.orgId, id: ulid() };
  await db.inOrg(owner.orgId, (tx) => announceObjects(tx, name));
  await putImage(deps.store, name, image);
  const { width, height } = image;
  await db.inOrg([org.id, owner.orgId], async (tx) => {
    if (!(await lockLiveOwner(tx, owner))) throw notFound();
    if (!(await claimObjects(tx, name))) throw new AppError('unavailable', 'the upload took too long');
    await putImageRow(tx, owner, { id: name.id, width, height });
    const details = { image_id: name.id, width, height };
    const resource = { type: owner.kind, id: owner.id };
    await recordEvent(tx, originOf(call), { orgId: org.id, type: 'image.uploaded', resource, details });
  });
  return deps.urls.sign(objectKey(name, 'full'));
}

async function remove(deps: ImagesDeps, call: Call, org: OrgScope, target: Target): Promise<void> {
  const owner = await ownerOf(deps, call, org, target);
  await deps.db.inOrg([org.id, owner.orgId], async (tx) => {
    if (!(await lockLiveOwner(tx, owner))) throw notFound();
    const details = { had_image: await deleteImageRow(tx, owner) };
    const resource = { type: owner.kind, id: owner.id };
    await recordEvent(tx, originOf(call), { orgId: org.id, type: 'image.deleted', resource, details });
  });
}

/** The row is asked as well: what was replaced or deleted is gone at once, however long its address would last. */
async function readObject(
  { db, store, urls }: ImagesDeps,
  key: string,
  expires: unknown,
  signature: unknown,
) {
  if (!urls.verify(key, expires, signature)) return null;
  const name = parseObjectKey(key);
  if (name === null) return null;
  const isThere = await db.inOrg(name.orgId, (tx) => isImage(tx, name));
  return isThere ? store.get(key) : null;
}
