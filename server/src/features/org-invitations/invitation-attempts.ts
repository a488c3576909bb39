import type { Database } from '../../db/database.ts';
import { reserveAttempt } from '../../identity/attempt.store.ts';
import { networkOf, secondsToNextWindow, windowStart } from '../../identity/attempts.rules.ts';
import { AppError } from '../../kernel/app-error.ts';
import type { Clock } from '../../kernel/clock.ts';

/** Per network and window. A token can not be guessed; this keeps strangers from making the database look it up for them. */
const maxAttempts = 100;

export type AdmitAttempt = (kind: 'preview' | 'redeem', ip: string | null) => Promise<void>;

export function createAdmitAttempt(db: Database, clock: Clock): AdmitAttempt {
  return async (kind, ip) => {
    const now = clock.now();
    const subject = `invitation ${kind} ${ip === null ? 'nowhere' : networkOf(ip)}`;
    if (!(await reserveAttempt(db.direct, subject, windowStart(now), maxAttempts))) {
      throw new AppError('rate_limited', 'too many attempts', {
        retryAfterSeconds: secondsToNextWindow(now),
      });
    }
  };
}
