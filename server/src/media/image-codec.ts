import sharp, { type SharpOptions } from 'sharp';
import { invalid } from '../kernel/app-error.ts';
import { createKeyedMutex } from '../kernel/async-queue.ts';
import { sniffImage } from './image-format.ts';

export interface EncodedImage {
  readonly full: Uint8Array;
  readonly thumb: Uint8Array;
  readonly width: number;
  readonly height: number;
}

export interface ImageCodec {
  /** New images from the pixels of a JPEG, PNG or WebP; refuses whatever else there is. */
  encode(bytes: Uint8Array): Promise<EncodedImage>;
}

export const maxPixels = 25_000_000;
export const imageContentType = 'image/webp';

const fullSide = 2048;
const thumbSide = 256;
const timeoutSeconds = 10;

/** Only these decoders exist for this process, whatever an image pretends to be: no SVG, no PDF, no ImageMagick. */
function allowDecoders(): void {
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({
    operation: ['VipsForeignLoadJpegBuffer', 'VipsForeignLoadPngBuffer', 'VipsForeignLoadWebpBuffer'],
  });
  // Uploads do not repeat, so a cache would only hold on to memory.
  sharp.cache(false);
}

const decoding: SharpOptions = {
  limitInputPixels: maxPixels,
  failOn: 'error',
  sequentialRead: true,
};

export function createImageCodec(): ImageCodec {
  allowDecoders();
  // One at a time: a decoded image is large, and how many are sent at once is up to the callers.
  const turns = createKeyedMutex();
  return { encode: (bytes) => turns.run('image', () => encode(bytes)) };
}

async function encode(bytes: Uint8Array): Promise<EncodedImage> {
  await requireSoundHeader(bytes);
  try {
    const { data: full, info } = await shrink(bytes, fullSide);
    const { data: thumb } = await shrink(full, thumbSide);
    return { full, thumb, width: info.width, height: info.height };
  } catch {
    throw invalid('/file', 'is damaged');
  }
}

/** Everything that can be known before a pixel is decoded. */
async function requireSoundHeader(bytes: Uint8Array): Promise<void> {
  const sniffed = sniffImage(bytes);
  if (sniffed === null) throw invalid('/file', 'is no JPEG, PNG or WebP');
  if (sniffed.isAnimated) throw invalid('/file', 'is animated');
  const header = await headerOf(bytes);
  if (header === null || header.format !== sniffed.format) throw invalid('/file', 'is damaged');
  if (header.width * header.height > maxPixels) throw invalid('/file', 'has more than 25 megapixels');
  if ((header.pages ?? 1) > 1) throw invalid('/file', 'is animated');
}

async function headerOf(bytes: Uint8Array) {
  try {
    // The limit is checked by the caller, who says so; here it would look like damage.
    return await sharp(bytes, { ...decoding, limitInputPixels: false }).metadata();
  } catch {
    return null;
  }
}

/** sharp writes no metadata unless told to; the orientation is applied to the pixels before it is lost. */
function shrink(bytes: Uint8Array, side: number) {
  return sharp(bytes, decoding)
    .timeout({ seconds: timeoutSeconds })
    .autoOrient()
    .resize({ width: side, height: side, fit: 'inside', withoutEnlargement: true })
    .webp({ quality: 82 })
    .toBuffer({ resolveWithObject: true });
}
