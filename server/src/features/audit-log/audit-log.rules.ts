import { AppError, invalid } from '../../kernel/app-error.ts';
import { hasRole, type OrgScope, type Principal } from '../../kernel/call.ts';
import { parseInstant } from '../../kernel/clock.ts';

const dayMs = 86_400_000;
export const hotWindowMs = 30 * dayMs;
/** How much longer than the window a walk may take: its last pages must not fall out of it on the way. */
const walkAllowanceMs = 3_600_000;

export interface AuditRange {
  readonly from: Date;
  /** Exclusive; null for no bound. */
  readonly until: Date | null;
}

export interface RangeInput {
  readonly occurred_after?: string | undefined;
  readonly occurred_before?: string | undefined;
}

/** Both bounds are inclusive and mean the milliseconds that answers show. */
export function auditRange(input: RangeInput, now: Date, walkStartedAt: number | null): AuditRange {
  const floor = windowStart(now, walkStartedAt);
  const after = instantOf('/occurred_after', input.occurred_after);
  const before = instantOf('/occurred_before', input.occurred_before);
  if ((after ?? floor) < floor || (before ?? floor) < floor) {
    throw new AppError(
      'audit_range_exceeds_hot_window',
      'only the last 30 days are listed; older events come by export',
    );
  }
  return { from: after ?? floor, until: before && new Date(before.getTime() + 1) };
}

function windowStart(now: Date, walkStartedAt: number | null): Date {
  const started = Math.min(walkStartedAt ?? now.getTime(), now.getTime());
  return new Date(Math.max(started, now.getTime() - walkAllowanceMs) - hotWindowMs);
}

function instantOf(path: string, text: string | undefined): Date | null {
  if (text === undefined) return null;
  const instant = parseInstant(text);
  if (instant === null) throw invalid(path, 'is not an RFC 3339 instant');
  return instant;
}

/** Administrators answer for what is below them; an agent stays in its own organization. */
export function auditScope(
  principal: Principal,
  org: OrgScope,
  wanted: 'self' | 'subtree' | undefined,
): 'self' | 'subtree' {
  const mayReadBelow = principal.kind !== 'agent' && hasRole(principal, org, 'admin');
  if (wanted === 'subtree' && !mayReadBelow)
    throw new AppError('forbidden', 'events of sub-organizations need the role admin');
  return wanted ?? (mayReadBelow ? 'subtree' : 'self');
}
