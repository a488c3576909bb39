import { randomBytes as systemRandomBytes } from 'node:crypto';
import { systemClock } from './clock.ts';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const PAIRS = [...ALPHABET].flatMap((high) => [...ALPHABET].map((low) => high + low));
const SHAPE = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
const MAX_TIME = 2 ** 48 - 1;

/** The 80 random bits are four limbs of 20 bits: each is a small integer and exactly four characters. */
const LIMB_COUNT = 4;
const LIMB_MAX = 2 ** 20 - 1;
const BYTES_PER_LIMB = 3;
/** A system call for every fresh id would cost more than everything else here together. */
const POOL_BYTES = LIMB_COUNT * BYTES_PER_LIMB * 256;

export interface UlidSources {
  now: () => number;
  randomBytes: (size: number) => Uint8Array;
}

/**
 * Ids of one factory strictly increase. Within a millisecond, and while the clock stands behind the newest id, the
 * random part counts up by one; when it is full the id borrows the next millisecond. A ULID is therefore guessable
 * from its neighbour and never a capability.
 */
export function createUlidFactory({ now, randomBytes }: UlidSources): () => string {
  const nextLimb = createLimbSource(randomBytes);
  const limbs = new Uint32Array(LIMB_COUNT);
  let time = Number.NEGATIVE_INFINITY;
  let timeText = '';

  const startMillisecond = (millis: number): void => {
    timeText = encodeTime(millis);
    time = millis;
    for (let index = 0; index < LIMB_COUNT; index += 1) limbs[index] = nextLimb();
  };

  return () => {
    const reading = now();
    // Negated so that NaN reaches the range check as well.
    if (!(reading <= time)) startMillisecond(reading);
    else if (!increment(limbs)) startMillisecond(time + 1);
    return (
      timeText + encodeLimb(limbs[0]) + encodeLimb(limbs[1]) + encodeLimb(limbs[2]) + encodeLimb(limbs[3])
    );
  };
}

export const ulid: () => string = createUlidFactory({
  now: systemClock.millis,
  randomBytes: systemRandomBytes,
});

export function isUlid(text: unknown): text is string {
  return typeof text === 'string' && SHAPE.test(text);
}

/** Milliseconds since the epoch. */
export function ulidTime(id: string): number {
  if (!isUlid(id)) throw new TypeError('not a ULID');
  let time = 0;
  for (let index = 0; index < 10; index += 1) time = time * 32 + ALPHABET.indexOf(id.charAt(index));
  return time;
}

function createLimbSource(randomBytes: UlidSources['randomBytes']): () => number {
  let pool: Uint8Array = new Uint8Array(0);
  let position = 0;
  return () => {
    if (position >= pool.length) {
      pool = randomBytes(POOL_BYTES);
      position = 0;
    }
    const [high = 0, middle = 0, low = 0] = [pool[position], pool[position + 1], pool[position + 2]];
    position += BYTES_PER_LIMB;
    return ((high << 16) | (middle << 8) | low) & LIMB_MAX;
  };
}

/** False when all 80 bits were set; the limbs are then all zero. */
function increment(limbs: Uint32Array): boolean {
  for (let index = LIMB_COUNT - 1; index >= 0; index -= 1) {
    const limb = limbs[index] ?? 0;
    if (limb < LIMB_MAX) {
      limbs[index] = limb + 1;
      return true;
    }
    limbs[index] = 0;
  }
  return false;
}

function encodeLimb(limb = 0): string {
  return `${PAIRS[limb >>> 10]}${PAIRS[limb & 1023]}`;
}

function encodeTime(millis: number): string {
  if (!Number.isInteger(millis) || millis < 0 || millis > MAX_TIME) {
    throw new RangeError('time does not fit into a ULID');
  }
  let text = '';
  let rest = millis;
  for (let index = 0; index < 5; index += 1) {
    text = `${PAIRS[rest % 1024]}${text}`;
    rest = Math.floor(rest / 1024);
  }
  return text;
}
