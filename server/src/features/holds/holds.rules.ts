import type { PutHoldRequest } from '@lintel/contract/holds';
import { invalid } from '../../kernel/app-error.ts';
import { parseInstant } from '../../kernel/clock.ts';
import { cleanText } from '../../kernel/text.ts';
import type { Hold, HoldKind } from '../../policy/hold-rules.ts';
import type { OrgPolicies } from '../../policy/org-policies.ts';
import type { PolicySnapshot } from '../../policy/typed-rules.ts';

export type HoldTerms = Pick<Hold, 'mode' | 'kind' | 'until' | 'recurrence' | 'reason' | 'includeLights'>;

const minuteMs = 60_000;
const furthestMs = 3650 * 86_400_000;

/** Null for the mode normal: there is nothing to hold. */
export function parseHold(input: PutHoldRequest, now: Date): HoldTerms | null {
  const until = parseUntil(input.until ?? null, now);
  const recurrence = input.recurrence ?? null;
  const reason = parseReason(input.reason ?? null);
  if (input.mode === 'normal') return null;
  const kind = input.kind ?? impliedKind(until, recurrence !== null);
  if (kind === 'temporary' && until === null) throw invalid('/until', 'is required for a temporary hold');
  if (kind === 'permanent' && until !== null) throw invalid('/until', 'a permanent hold has no end');
  if (kind === 'recurring' && recurrence === null)
    throw invalid('/recurrence', 'is required for a recurring hold');
  if (kind !== 'recurring' && recurrence !== null)
    throw invalid('/recurrence', 'belongs to the kind recurring');
  if (recurrence !== null && recurrence.start === recurrence.end)
    throw invalid('/recurrence/end', 'must differ from start');
  const weekly = recurrence && {
    days: [...recurrence.days].sort((a, b) => a - b),
    start: recurrence.start,
    end: recurrence.end,
  };
  const includeLights = input.include_lights ?? false;
  return { mode: input.mode, kind, until, recurrence: weekly, reason, includeLights };
}

function impliedKind(until: Date | null, recurs: boolean): HoldKind {
  if (recurs) return 'recurring';
  return until === null ? 'permanent' : 'temporary';
}

/** Up to the whole minute: decisions are kept that long. */
export function parseUntil(text: string | null, now: Date): Date | null {
  if (text === null) return null;
  const instant = parseInstant(text);
  if (instant === null) throw invalid('/until', 'is not an RFC 3339 instant');
  if (instant <= now) throw invalid('/until', 'is in the past');
  if (instant.getTime() - now.getTime() > furthestMs) throw invalid('/until', 'is more than 3650 days away');
  return new Date(Math.ceil(instant.getTime() / minuteMs) * minuteMs);
}

export function parseReason(text: string | null): string | null {
  if (text === null || text.trim() === '') return null;
  const cleaned = cleanText(text, { maxLength: 500 });
  if (!cleaned.ok) throw invalid('/reason', cleaned.reason);
  return cleaned.text;
}

/** The policies there would be if this hold were not there. */
export function withoutHold({ orgs }: PolicySnapshot, holdId: string): PolicySnapshot {
  const others = (index: OrgPolicies['byDevice']) =>
    new Map([...index].map(([key, policies]) => [key, policies.filter(({ id }) => id !== holdId)]));
  return {
    orgs: orgs.map((org) => ({
      ...org,
      byDevice: others(org.byDevice),
      byHardware: others(org.byHardware),
    })),
  };
}
