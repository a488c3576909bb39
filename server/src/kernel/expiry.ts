import { invalid } from './app-error.ts';
import { parseInstant } from './clock.ts';
import { parseDurationSeconds } from './duration.ts';

export interface ExpiryInput {
  readonly expires_at?: string | null;
  readonly expires_in?: string | null;
}

const maxLifetimeMs = 3650 * 86_400_000;

/** expires_at or expires_in, not both; null when neither is given. */
export function expiryOf(input: ExpiryInput, now: Date): Date | null {
  const at = input.expires_at ?? null;
  const duration = input.expires_in ?? null;
  if (at !== null && duration !== null) throw invalid('/expires_in', 'excludes expires_at');
  if (at !== null) return futureInstant(at, now);
  if (duration === null) return null;
  const parsed = parseDurationSeconds(duration);
  if (!parsed.ok) throw invalid('/expires_in', parsed.reason);
  return new Date(now.getTime() + parsed.seconds * 1000);
}

function futureInstant(text: string, now: Date): Date {
  const instant = parseInstant(text);
  if (instant === null) throw invalid('/expires_at', 'is not an RFC 3339 instant');
  if (instant <= now) throw invalid('/expires_at', 'is in the past');
  if (instant.getTime() - now.getTime() > maxLifetimeMs)
    throw invalid('/expires_at', 'is more than 3650 days away');
  return instant;
}

export function requiredExpiry(input: ExpiryInput, now: Date): Date {
  const expiry = expiryOf(input, now);
  if (expiry === null) throw invalid('/expires_at', 'is required (or expires_in)');
  return expiry;
}

/** For a credential of something that expires itself: it can not outlive it. */
export function earlierExpiry(wanted: Date, limit: Date | null): Date {
  return limit !== null && limit < wanted ? limit : wanted;
}
