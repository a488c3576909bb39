import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';

/** One hop only: a node that is asked this way and does not wait for the device either refuses it. */
const FORWARDED = 'x-node-forwarded';
const ANSWER_WITHIN_MS = 5_000;

export interface DialInForward {
  /** Carries a device that reached the wrong node to the one that waits for it. */
  carry(address: string, request: IncomingMessage, raw: Duplex, head: Buffer): void;
  /** Ends all that are carried. */
  close(): void;
}

export function isForwarded({ headers }: IncomingMessage): boolean {
  return headers[FORWARDED] !== undefined;
}

/**
 * The bytes are passed on as they are: the device proves itself at the other node, by the same address. When one side
 * goes, so does the other, and the device dials again.
 */
export function createDialInForward(refuse: (raw: Duplex, status: string) => void): DialInForward {
  const carried = new Set<Duplex>();
  return {
    carry(address, incoming, raw, head) {
      const url = new URL(incoming.url ?? '/', address);
      const headers = { ...incoming.headers, [FORWARDED]: '1' };
      const ask = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
        headers,
        timeout: ANSWER_WITHIN_MS,
      });
      ask.on('upgrade', (answer, far: Duplex, farHead) => {
        for (const side of [raw, far]) carried.add(side);
        join(raw, far, () => {
          for (const side of [raw, far]) carried.delete(side);
        });
        raw.write(statusAndHeaders(answer));
        raw.write(farHead);
        far.write(head);
      });
      const giveUp = (): void => refuse(raw, '503 Service Unavailable');
      ask.on('response', (answer) => {
        answer.resume();
        giveUp();
      });
      ask.on('timeout', () => ask.destroy()).on('error', giveUp);
      ask.end();
    },
    close() {
      for (const socket of carried) socket.destroy();
    },
  };
}

function join(one: Duplex, other: Duplex, onEnd: () => void): void {
  const end = (): void => {
    one.destroy();
    other.destroy();
    onEnd();
  };
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', end).on('close', end);
    from.pipe(to);
  }
}

function statusAndHeaders({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`];
  for (let index = 0; index < rawHeaders.length; index += 2)
    lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}
