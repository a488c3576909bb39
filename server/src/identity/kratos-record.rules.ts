import type { IdentitySession } from '../kernel/call.ts';
import { normalizeEmail } from '../kernel/email.ts';

type Members = Readonly<Record<string, unknown>>;

/** What the service takes from a whoami answer; null when it is no active session. */
export function readWhoami(record: unknown, issuer: string): IdentitySession | null {
  if (!isMembers(record) || record.active === false || !isMembers(record.identity)) return null;
  const { id: subject, traits } = record.identity;
  if (typeof record.id !== 'string' || typeof subject !== 'string') return null;
  const named = isMembers(traits) ? traits : {};
  const email = typeof named.email === 'string' ? normalizeEmail(named.email) : null;
  return { issuer, subject, sessionId: record.id, email, name: nameOf(named.name), record: { ...record } };
}

/** Kratos' sample schemas have a plain name or first and last. */
function nameOf(name: unknown): string | null {
  if (typeof name === 'string') return name.trim() || null;
  if (!isMembers(name)) return null;
  const parts = [name.first, name.last].filter((part): part is string => typeof part === 'string');
  return parts.join(' ').trim() || null;
}

/** Whether the provider itself proved that the address is the person's. Anything else is only a claim. */
export function hasVerifiedEmail(session: IdentitySession): boolean {
  const identity = session.record.identity;
  const addresses = isMembers(identity) ? identity.verifiable_addresses : undefined;
  if (session.email === null || !Array.isArray(addresses)) return false;
  return addresses.some(
    (address: unknown) =>
      isMembers(address) &&
      address.via === 'email' &&
      address.verified === true &&
      typeof address.value === 'string' &&
      normalizeEmail(address.value) === session.email,
  );
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
