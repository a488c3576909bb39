import type { UserInvitation } from '@lintel/contract/org-invitations';
import { invalid } from '../../kernel/app-error.ts';
import { parseDurationSeconds } from '../../kernel/duration.ts';
import { normalizeEmail } from '../../kernel/email.ts';

const day = 86_400;
const defaultLifetimeSeconds = 7 * day;
const maxLifetimeSeconds = 30 * day;
const resendCooldownSeconds = 60;

export const maxPinFailures = 5;

/** What a person gets who is invited without roles: a member, and no more. */
export const leastRoles = ['orgs:read'] as const;

export interface InvitationLife {
  readonly redeemedAt: Date | null;
  readonly cancelledAt: Date | null;
  readonly expiresAt: Date;
}

export function statusOf(invitation: InvitationLife, now: Date): UserInvitation['status'] {
  if (invitation.redeemedAt !== null) return 'redeemed';
  if (invitation.cancelledAt !== null) return 'cancelled';
  return invitation.expiresAt <= now ? 'expired' : 'pending';
}

/** An expired one is not closed: it can be sent again. */
export function isClosed(invitation: InvitationLife): boolean {
  return invitation.redeemedAt !== null || invitation.cancelledAt !== null;
}

export function lifetimeSeconds(expiresIn: string | null): number {
  if (expiresIn === null) return defaultLifetimeSeconds;
  const parsed = parseDurationSeconds(expiresIn);
  if (!parsed.ok) throw invalid('/expires_in', parsed.reason);
  if (parsed.seconds > maxLifetimeSeconds) throw invalid('/expires_in', 'must not exceed 30d');
  return parsed.seconds;
}

export function after(now: Date, seconds: number): Date {
  return new Date(now.getTime() + seconds * 1000);
}

/** The length it was given first, started anew. */
export function renewedExpiry(invitation: { lastSentAt: Date; expiresAt: Date }, now: Date): Date {
  return new Date(now.getTime() + invitation.expiresAt.getTime() - invitation.lastSentAt.getTime());
}

/** Seconds until it may be sent again; 0 when it may. */
export function cooldownLeft(lastSentAt: Date, now: Date): number {
  const left = resendCooldownSeconds * 1000 - (now.getTime() - lastSentAt.getTime());
  return Math.max(0, Math.ceil(left / 1000));
}

export function parseInvitedEmail(text: string): string {
  const email = normalizeEmail(text);
  if (email === null) throw invalid('/email', 'is not an email address');
  return email;
}

/** `a***@d***.com`: enough for the person to know which of their addresses is meant. */
export function maskEmail(email: string): string {
  const [local = '', domain = ''] = email.split('@');
  const labels = domain.split('.');
  const top = labels.length > 1 ? `.${labels.at(-1)}` : '';
  return `${firstCharacter(local)}***@${firstCharacter(domain)}***${top}`;
}

/** How audit events name an invitation: they outlive it, and everybody who reads them, so the address is masked. */
export function resourceOf(invitation: { id: string; email: string }) {
  return { type: 'invitation', id: invitation.id, name: maskEmail(invitation.email) };
}

function firstCharacter(text: string): string {
  return [...text][0] ?? '';
}
