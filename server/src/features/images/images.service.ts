import type { CopiedImageKind, ImageKind, ImageSize } from '@lintel/contract/images';
import { originOf, recordEvent } from '../../audit/audit.store.ts';
import type { Database } from '../../db/database.ts';
import { AppError, notFound } from '../../kernel/app-error.ts';
import { type Call, entityLimit, type OrgScope, principalOf } from '../../kernel/call.ts';
import { ulid } from '../../kernel/ulid.ts';
import type { EncodedImage, ImageCodec } from '../../media/image-codec.ts';
import type { ObjectStore } from '../../media/object-store.ts';
import type { SignedUrl, SignedUrls } from '../../media/signed-urls.ts';
import { getImage, objectKey, parseObjectKey, putImage } from '../../media/stored-image.ts';
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
  copyFrom(
    call: Call,
    org: OrgScope,
    kind: CopiedImageKind,
    id: string,
    sourceId: string,
  ): Promise<SignedUrl>;
  delete(call: Call, org: OrgScope, kind: ImageKind, id: string): Promise<void>;
  /** For whoever holds a signed address; null for anything that is not one, or no more. */
  read(key: string, expires: unknown, signature: unknown): Promise<Uint8Array | null>;
}

export function createImagesService(deps: ImagesDeps): ImagesService {
  return {
    url: (call, org, kind, id, size) => readUrl(deps, call, org, { kind, id }, size),
    upload: (call, org, kind, id, bytes) => upload(deps, call, org, { kind, id }, bytes),
    copyFrom: (call, org, kind, id, sourceId) => copyFrom(deps, call, org, { kind, id }, sourceId),
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

async function upload(deps: ImagesDeps, call: Call, org: OrgScope, target: Target, bytes: Uint8Array) {
  const owner = await liveOwnerOf(deps, call, org, target);
  return publish(deps, call, org, owner, await deps.codec.encode(bytes), {});
}

async function copyFrom(deps: ImagesDeps, call: Call, org: OrgScope, target: Target, sourceId: string) {
  const owner = await liveOwnerOf(deps, call, org, target);
  const source = await liveOwnerOf(deps, call, org, { ...target, id: sourceId });
  const row = await deps.db.inOrg(source.orgId, (tx) => findImage(tx, source));
  const objects = row === null ? null : await getImage(deps.store, row);
  if (row === null || objects === null) throw notFound();
  const { width, height } = row;
  return publish(deps, call, org, owner, { ...objects, width, height }, { source_id: sourceId });
}

async function liveOwnerOf(deps: ImagesDeps, call: Call, org: OrgScope, target: Target): Promise<ImageOwner> {
  const owner = await ownerOf(deps, call, org, target);
  await deps.db.inOrg(owner.orgId, async (tx) => {
    if (!(await isLiveOwner(tx, owner))) throw notFound();
  });
  return owner;
}

/**
 * The objects are written before the row that makes them reachable, and announced before they are written: whatever
 * fails in between, they are collected.
 */
async function publish(
  { db, store, urls }: ImagesDeps,
  call: Call,
  org: OrgScope,
  owner: ImageOwner,
  image: EncodedImage,
  origin: Readonly<Record<string, string>>,
): Promise<SignedUrl> {
  const name = { orgId: owner.orgId, id: ulid() };
  await db.inOrg(owner.orgId, (tx) => announceObjects(tx, name));
  await putImage(store, name, image);
  const { width, height } = image;
  await db.inOrg([org.id, owner.orgId], async (tx) => {
    if (!(await lockLiveOwner(tx, owner))) throw notFound();
    if (!(await claimObjects(tx, name))) throw new AppError('unavailable', 'the upload took too long');
    await putImageRow(tx, owner, { id: name.id, width, height });
    const details = { image_id: name.id, width, height, ...origin };
    const resource = { type: owner.kind, id: owner.id };
    await recordEvent(tx, originOf(call), { orgId: org.id, type: 'image.uploaded', resource, details });
  });
  return urls.sign(objectKey(name, 'full'));
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
