import type { ActiveSession } from './identity-model.ts';

const privilegedMs = 10 * 60_000;

/**
 * Whether a session may change the password. Somebody who came by a one-time link and has no password yet could never
 * re-authenticate, so they may whenever they like.
 */
export function isPrivileged(session: ActiveSession, now: Date): boolean {
  const age = now.getTime() - session.authenticatedAt.getTime();
  return (
    age <= privilegedMs || (session.method === 'link_recovery' && session.identity.passwordHash === null)
  );
}
