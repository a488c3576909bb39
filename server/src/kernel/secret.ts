import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { inspect } from 'node:util';

const REDACTED = '[redacted]';

/** Redaction by type: no log line, error or JSON body can show the value; reading it takes a visible `reveal()`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}

/** Unpadded base64url. */
export function generateToken(bytes = 32): string {
  return randomBytes(bytes).toString('base64url');
}

export function hmacSha256(pepper: Secret, text: string): Buffer {
  return createHmac('sha256', pepper.reveal()).update(text).digest();
}

export function sha256(data: string | Buffer): Buffer {
  return hash('sha256', data, 'buffer');
}

/** timingSafeEqual throws on unequal lengths; a length is no secret here, so it may answer early. */
export function equalInConstantTime(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
