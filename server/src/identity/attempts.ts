import type { Database } from '../db/database.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Secret } from '../kernel/secret.ts';
import { refundAttempts, reserveAttempt } from './attempt.store.ts';
import { maxAttempts, networkOf, secondsToNextWindow, windowStart } from './attempts.rules.ts';
import { hashCredential } from './credentials-hash.ts';

export type AttemptVerdict =
  /** The attempt is counted already; `refund` takes it back after a success. */
  { readonly ok: true; refund(): Promise<void> } | { readonly ok: false; readonly retryAfterSeconds: number };

interface AttemptDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly pepper: Secret;
}

/**
 * Counted before the password is looked at, in the database: parallel guesses on several nodes share one budget, and a
 * refused attempt costs no hash.
 */
export async function takeAttempt(
  deps: AttemptDeps,
  who: { readonly address: string | null; readonly ip: string | null },
): Promise<AttemptVerdict> {
  const now = deps.clock.now();
  const start = windowStart(now);
  const subjects = subjectsOf(deps.pepper, who);
  for (const { subject, limit } of subjects) {
    if (!(await reserveAttempt(deps.db.direct, subject, start, limit))) {
      return { ok: false, retryAfterSeconds: secondsToNextWindow(now) };
    }
  }
  const names = subjects.map(({ subject }) => subject);
  return { ok: true, refund: () => refundAttempts(deps.db.direct, names, start) };
}

function subjectsOf(pepper: Secret, { address, ip }: { address: string | null; ip: string | null }) {
  const subjects: { subject: string; limit: number }[] = [];
  if (ip !== null) subjects.push({ subject: `ip ${networkOf(ip)}`, limit: maxAttempts.ip });
  if (address !== null) {
    // Hashed: people type passwords into the wrong field.
    const name = hashCredential(pepper, 'address', address.toLowerCase()).toString('base64url');
    subjects.push({ subject: `address ${name}`, limit: maxAttempts.address });
  }
  return subjects;
}
