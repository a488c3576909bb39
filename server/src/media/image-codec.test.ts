import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { createImageCodec } from './image-codec.ts';
import { sniffImage } from './image-format.ts';

const codec = createImageCodec();

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}

/** One bit for each pixel, so that even a bomb is small and quickly made. */
function png(width: number, height: number, extra: readonly Buffer[] = [], data?: Buffer): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 1;
  const rows = data ?? deflateSync(Buffer.alloc((1 + Math.ceil(width / 8)) * height));
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    ...extra,
    chunk('IDAT', rows),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const animationControl = chunk('acTL', Buffer.from([0, 0, 0, 2, 0, 0, 0, 0]));

const picture = (width: number, height: number) =>
  sharp(Buffer.alloc(width * height * 3, 0x80), { raw: { width, height, channels: 3 } });

async function animatedWebp(): Promise<Buffer> {
  const frames = Buffer.alloc(16 * 32 * 3);
  frames.fill(0xff, 0, frames.length / 2);
  const strip = sharp(frames, { raw: { width: 16, height: 32, channels: 3, pageHeight: 16 } });
  return strip.webp({ loop: 0, delay: [100, 100] }).toBuffer();
}

describe('an image', () => {
  it.each(['jpeg', 'png', 'webp'] as const)('of type %s becomes WebP in two sizes', async (format) => {
    const { full, thumb, width, height } = await codec.encode(
      await picture(600, 300).toFormat(format).toBuffer(),
    );
    expect([width, height]).toEqual([600, 300]);
    expect(await sharp(full).metadata()).toMatchObject({ format: 'webp', width: 600, height: 300 });
    expect(await sharp(thumb).metadata()).toMatchObject({ format: 'webp', width: 256, height: 128 });
  });

  it('of 25 megapixels is taken', async () => {
    expect(await codec.encode(png(5000, 5000))).toMatchObject({ width: 2048, height: 2048 });
  });
});

describe('refused, by what it says of itself, is', () => {
  const bombs: readonly (readonly [string, () => Buffer | Promise<Buffer>, RegExp])[] = [
    ['a PNG of 17000²', () => png(17_000, 17_000), /megapixels/],
    ['a PNG of 14000²', () => png(14_000, 14_000), /megapixels/],
    ['a PNG one row over 25 megapixels', () => png(5000, 5001), /megapixels/],
    ['a PNG that claims 2^31 pixels a side', () => png(0x7fff_ffff, 0x7fff_ffff, [], Buffer.alloc(8)), /./],
    ['an animated PNG', () => png(8, 8, [animationControl]), /animated/],
    ['an animated WebP', animatedWebp, /animated/],
    ['an SVG', () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'), /JPEG/],
    [
      'an SVG that loads',
      () => Buffer.from('<?xml version="1.0"?><svg><image href="http://x/"/></svg>'),
      /JPEG/,
    ],
    ['a GIF', () => Buffer.from('R0lGODlhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs=', 'base64'), /JPEG/],
    ['a page', () => Buffer.from('<html><script>1</script>'), /JPEG/],
    [
      'a page behind the first bytes of a JPEG',
      () => Buffer.from('\xff\xd8\xff<script>', 'latin1'),
      /damaged/,
    ],
    ['a PNG with rows that are no data', () => png(64, 64, [], Buffer.from('not deflated')), /damaged/],
    ['nothing', () => Buffer.alloc(0), /JPEG/],
  ];
  it.each(bombs)('%s', async (_, make, reason) => {
    const bytes = await make();
    await expect(codec.encode(bytes)).rejects.toThrow(reason);
    await expect(codec.encode(bytes)).rejects.toMatchObject({ code: 'validation_error' });
  });

  it.each(['jpeg', 'png', 'webp'] as const)('a %s that ends in the middle', async (format) => {
    const pixels = Buffer.from(Array.from({ length: 96 * 96 * 3 }, (_, index) => (index * 7919) % 251));
    const whole = await sharp(pixels, { raw: { width: 96, height: 96, channels: 3 } })
      .toFormat(format)
      .toBuffer();
    await expect(codec.encode(whole.subarray(0, whole.length / 2))).rejects.toThrow(/damaged/);
  });

  it('a bomb, in little memory', async () => {
    const bomb = png(17_000, 17_000);
    const before = process.memoryUsage.rss();
    await Promise.all([1, 2, 3].map(() => codec.encode(bomb).catch(() => undefined)));
    expect(process.memoryUsage.rss() - before).toBeLessThan(150 * 1_048_576);
  });
});

it('an animation chunk behind the pixels does not make a PNG animated', () => {
  const still = png(8, 8);
  expect(sniffImage(still)).toEqual({ format: 'png', isAnimated: false });
  expect(sniffImage(Buffer.concat([still, animationControl]))).toEqual({ format: 'png', isAnimated: false });
  expect(sniffImage(png(8, 8, [animationControl]))).toEqual({ format: 'png', isAnimated: true });
});
