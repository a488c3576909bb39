import type { Socket } from 'node:net';
import { deserialize, serialize } from 'node:v8';

const headerBytes = 4;

export interface PipeListener {
  readonly hear: (message: unknown) => void;
  /** The other side does not keep to the rules; nothing more is heard of it. */
  readonly refuse: () => void;
}

/** Each message stands behind its length. What is announced as too long is not waited for, nor kept. */
export function listenTo(pipe: Socket, maxBytes: number, { hear, refuse }: PipeListener): void {
  let chunks: Buffer[] = [];
  let have = 0;
  let wanted: number | null = null;
  const take = (bytes: number): Buffer => {
    const all = Buffer.concat(chunks, have);
    chunks = [all.subarray(bytes)];
    have -= bytes;
    return all.subarray(0, bytes);
  };
  const next = (): Buffer | null => {
    if (wanted === null && have >= headerBytes) wanted = take(headerBytes).readUInt32LE();
    if (wanted === null || wanted > maxBytes || have < wanted) return null;
    const body = take(wanted);
    wanted = null;
    return body;
  };
  const receive = (chunk: Buffer): void => {
    chunks.push(chunk);
    have += chunk.length;
    try {
      for (let body = next(); body !== null; body = next()) hear(deserialize(body));
    } catch {
      wanted = Number.POSITIVE_INFINITY;
    }
    if (wanted === null || wanted <= maxBytes) return;
    chunks = [];
    pipe.off('data', receive).destroy();
    refuse();
  };
  pipe.on('data', receive);
}

export function writeTo(pipe: Socket, message: unknown): void {
  if (pipe.destroyed) return;
  const body = serialize(message);
  const header = Buffer.allocUnsafe(headerBytes);
  header.writeUInt32LE(body.length);
  pipe.write(Buffer.concat([header, body]));
}
