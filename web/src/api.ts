import { type ApiClient, createClient } from '@lintel/contract/client';

const answerWithinMs = 15_000;

/** The page's own origin: the browser adds the session cookie. */
export const api: ApiClient = createClient({ baseUrl: '/api/v1' });

/** For reading: a page that waits for ever looks like a page that knows. */
export const inTime = (): AbortSignal => AbortSignal.timeout(answerWithinMs);

/** A fresh one for each press: whatever repeats the request below us can not open twice. */
export function newIdempotencyKey(): string {
  // Not randomUUID: browsers have it on https and localhost only.
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
