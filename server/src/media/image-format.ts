/** What the first bytes say; nothing a caller declares is believed. */
export type ImageFormat = 'jpeg' | 'png' | 'webp';

export interface SniffedImage {
  readonly format: ImageFormat;
  readonly isAnimated: boolean;
}

const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

export function sniffImage(data: Uint8Array): SniffedImage | null {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (bytes.length >= 3 && bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff)
    return { format: 'jpeg', isAnimated: false };
  if (bytes.subarray(0, 8).equals(pngSignature)) return { format: 'png', isAnimated: isAnimatedPng(bytes) };
  if (textAt(bytes, 0) === 'RIFF' && textAt(bytes, 8) === 'WEBP')
    return { format: 'webp', isAnimated: isAnimatedWebp(bytes) };
  return null;
}

const textAt = (bytes: Buffer, offset: number): string => bytes.toString('latin1', offset, offset + 4);

/** PNG 3rd edition, 11.3.6.1: an animated PNG has an acTL chunk, and it comes before the first IDAT. */
function isAnimatedPng(bytes: Buffer): boolean {
  for (let offset = 8; offset + 8 <= bytes.length; ) {
    const type = textAt(bytes, offset + 4);
    if (type === 'acTL') return true;
    if (type === 'IDAT') return false;
    // Length, type and checksum around the data.
    offset += 12 + bytes.readUInt32BE(offset);
  }
  return false;
}

/** RFC 9649, 2.7: the animation flag of the extended header. */
function isAnimatedWebp(bytes: Buffer): boolean {
  return textAt(bytes, 12) === 'VP8X' && ((bytes[20] ?? 0) & 0x02) !== 0;
}
