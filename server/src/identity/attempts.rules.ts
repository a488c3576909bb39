import { isIPv4, isIPv6 } from 'node:net';

export const attemptWindowSeconds = 300;
export const maxAttempts = { address: 10, ip: 50 } as const;

export function windowStart(now: Date): Date {
  const length = attemptWindowSeconds * 1000;
  return new Date(Math.floor(now.getTime() / length) * length);
}

export function secondsToNextWindow(now: Date): number {
  const end = windowStart(now).getTime() + attemptWindowSeconds * 1000;
  return Math.max(1, Math.ceil((end - now.getTime()) / 1000));
}

/** A subscriber has one IPv4 address but a whole /64 of IPv6, so the network counts there. */
export function networkOf(ip: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1];
  if (mapped !== undefined && isIPv4(mapped)) return mapped;
  if (!isIPv6(ip)) return ip;
  const [head = '', tail] = (ip.split('%')[0] ?? '').split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? 0 : tail.split(':').length;
  const zeros = tail === undefined ? 0 : 8 - groups.length - after;
  const full = [...groups, ...Array<string>(zeros).fill('0'), ...(tail ? tail.split(':') : [])];
  return `${full
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
