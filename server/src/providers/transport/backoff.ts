import { randomInt } from 'node:crypto';

/** Doubles with every failure up to the cap; the upper half is random, so that a thousand links do not return at once. */
export function backoffMs(failures: number, firstMs: number, capMs: number): number {
  const whole = Math.min(capMs, firstMs * 2 ** Math.min(Math.max(failures - 1, 0), 20));
  return jittered(whole);
}

/** Between the whole time and half as much again. */
export function jittered(ms: number): number {
  return ms + randomInt(Math.floor(ms / 2) + 1);
}
