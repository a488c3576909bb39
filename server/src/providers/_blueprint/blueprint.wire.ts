import type { Delivery, ObservedStatus } from '../provider.ts';

/** Pure: bytes and text on one side, meaning on the other. Put the published examples of your protocol in the test. */
export function encodeCommand(verb: 'open' | 'close', channel: string): string {
  return `SET ${channel} ${verb === 'open' ? 'ON' : 'OFF'}\n`;
}

export type Reply =
  | { readonly ok: true; readonly status: ObservedStatus }
  | { readonly ok: false; readonly reason: string };

/** Null for a line that is no answer to a command. */
export function decodeReply(line: string): Reply | null {
  const [word, , state] = line.trim().split(' ');
  if (word === 'ERR') return { ok: false, reason: line.trim().slice(4) };
  if (word !== 'OK' || (state !== 'ON' && state !== 'OFF')) return null;
  return { ok: true, status: state === 'ON' ? 'open' : 'closed' };
}

export function toDelivery(reply: Reply | null): Delivery {
  if (reply === null) return { kind: 'unknown', reason: 'the relay answered something else' };
  return reply.ok ? { kind: 'delivered', observed: reply.status } : { kind: 'refused', reason: reply.reason };
}
