import type { AccessPlace } from './access-facts.ts';
import { reaches, windowAt } from './hold-rules.ts';
import type { OpenHold, OrgPolicies } from './org-policies.ts';
import { localTimes, type PolicySnapshot } from './typed-rules.ts';

/** A window of a hold: see `windowAt`. */
export interface HoldWindow {
  readonly holdId: string;
  readonly windowDay: number;
}

type Place = Pick<AccessPlace, 'deviceId' | 'entityId' | 'entityType'>;

/** The hold that keeps this entity open now. A lockdown ends them all for as long as it lasts. */
export function openHoldOf({ orgs }: PolicySnapshot, place: Place, nowMs: number): HoldWindow | null {
  const here = orgs.flatMap(({ openHolds }) => openHolds.get(place.deviceId) ?? []);
  const holds = here.filter((hold) => reaches(hold, place));
  if (holds.length === 0 || isLockedDown(orgs, nowMs)) return null;
  const [window] = windowsAt(holds, nowMs);
  return window ?? null;
}

function windowsAt(holds: readonly OpenHold[], nowMs: number): HoldWindow[] {
  const local = localTimes(nowMs);
  return holds.flatMap(({ id, zone, span }) => {
    const windowDay = windowAt(span, nowMs, () => local(zone));
    return windowDay === null ? [] : [{ holdId: id, windowDay }];
  });
}

function isLockedDown(orgs: readonly OrgPolicies[], nowMs: number): boolean {
  return orgs.some(({ lockdown }) => {
    const rule = lockdown?.rule;
    if (rule?.kind !== 'span') return rule !== undefined;
    return rule.span.untilMs === null || nowMs < rule.span.untilMs;
  });
}

const minuteMs = 60_000;
const furthestMinutes = 60;

/** When another window may begin or end: on the minute, and in an hour at the latest. */
export function nextWindowChange({ orgs }: PolicySnapshot, nowMs: number): number {
  const holds = orgs.flatMap(({ openHolds }) => [...openHolds.values()].flat());
  const stateAt = (ms: number) => JSON.stringify([isLockedDown(orgs, ms), windowsAt(holds, ms)]);
  const thisMinute = Math.floor(nowMs / minuteMs);
  const before = stateAt(nowMs);
  for (let ahead = 1; ahead < furthestMinutes; ahead += 1) {
    const ms = (thisMinute + ahead) * minuteMs;
    if (stateAt(ms) !== before) return ms;
  }
  return (thisMinute + furthestMinutes) * minuteMs;
}
