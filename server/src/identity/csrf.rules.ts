import { randomBytes } from 'node:crypto';
import { equalInConstantTime, sha256 } from '../kernel/secret.ts';

const secretBytes = 32;

/** Kratos names the cookie after its base address, so that two providers on one host do not fight over it. */
export function csrfCookieName(baseUrl: string): string {
  return `csrf_token_${sha256(baseUrl).toString('hex')}`;
}

export function newCsrfSecret(): Buffer {
  return randomBytes(secretBytes);
}

/** Null for anything that is not a secret of ours in its one spelling. */
export function parseCsrfCookie(value: string | undefined): Buffer | null {
  const secret = Buffer.from(value ?? '', 'base64url');
  return secret.length === secretBytes && secret.toString('base64url') === value ? secret : null;
}

/** The token in the form: the secret under a fresh mask, so that compressed pages do not leak it (BREACH). */
export function maskCsrf(secret: Buffer, mask: Buffer = randomBytes(secretBytes)): string {
  return Buffer.concat([mask, xor(secret, mask)]).toString('base64');
}

export function isCsrfTokenOf(secret: Buffer, token: unknown): boolean {
  if (typeof token !== 'string') return false;
  const bytes = Buffer.from(token, 'base64');
  if (bytes.length !== 2 * secretBytes) return false;
  const mask = bytes.subarray(0, secretBytes);
  return equalInConstantTime(xor(bytes.subarray(secretBytes), mask), secret);
}

function xor(a: Buffer, b: Buffer): Buffer {
  return Buffer.from(a.map((byte, index) => byte ^ (b[index] ?? 0)));
}
