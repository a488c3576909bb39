import type { ImageSize } from '@lintel/contract/images';
import type { EncodedImage } from './image-codec.ts';
import type { ObjectStore } from './object-store.ts';

/** The organization is part of the name, so that an object can never be taken for another organization's. */
export interface ImageName {
  readonly orgId: string;
  readonly id: string;
}

export function objectKey({ orgId, id }: ImageName, size: ImageSize): string {
  return `${orgId}/${id}-${size}.webp`;
}

const keyPattern = /^([0-9A-Z]{26})\/([0-9A-Z]{26})-(?:full|thumb)\.webp$/;

export function parseObjectKey(key: string): ImageName | null {
  const [, orgId, id] = keyPattern.exec(key) ?? [];
  return orgId === undefined || id === undefined ? null : { orgId, id };
}

export async function putImage(store: ObjectStore, name: ImageName, image: EncodedImage): Promise<void> {
  await store.put(objectKey(name, 'full'), image.full);
  await store.put(objectKey(name, 'thumb'), image.thumb);
}

/** Null when it was deleted meanwhile. */
export async function getImage(
  store: ObjectStore,
  name: ImageName,
): Promise<Pick<EncodedImage, ImageSize> | null> {
  const full = await store.get(objectKey(name, 'full'));
  const thumb = await store.get(objectKey(name, 'thumb'));
  return full === null || thumb === null ? null : { full, thumb };
}

export async function deleteImage(store: ObjectStore, name: ImageName): Promise<void> {
  await store.delete(objectKey(name, 'full'));
  await store.delete(objectKey(name, 'thumb'));
}
