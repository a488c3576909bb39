import type { LocalTime } from './zone-clock.ts';

export type HoldMode = 'hold_open' | 'hold_closed';
export type HoldKind = 'permanent' | 'temporary' | 'recurring';

/** Weekly, on ISO days (Monday is 1), in local time; `end` is exclusive and may lie on the next day. */
export interface Recurrence {
  readonly days: readonly number[];
  readonly start: string;
  readonly end: string;
}

/** A row of `door_holds`. */
export interface Hold {
  readonly id: string;
  readonly orgId: string;
  readonly deviceId: string;
  /** Of the device, where it is known world-wide: one that keeps all of it closed binds all devices that are the same. */
  readonly hardwareId?: string | null;
  /** Null: the device as a whole. */
  readonly entityId: string | null;
  readonly mode: HoldMode;
  readonly kind: HoldKind;
  readonly until: Date | null;
  readonly recurrence: Recurrence | null;
  readonly reason: string | null;
  readonly includeLights: boolean;
}

/** A row of `org_lockdowns`. */
export interface Lockdown {
  readonly id: string;
  readonly orgId: string;
  readonly reason: string | null;
  readonly until: Date | null;
}

/** When something holds. Nothing in it is finer than a minute. */
export interface Span {
  readonly untilMs: number | null;
  readonly weekly: { readonly days: readonly number[]; readonly start: number; readonly end: number } | null;
}

export function spanOf({ until, recurrence }: { until: Date | null; recurrence?: Recurrence | null }): Span {
  return {
    untilMs: until?.getTime() ?? null,
    weekly: recurrence
      ? { days: recurrence.days, start: minuteOf(recurrence.start), end: minuteOf(recurrence.end) }
      : null,
  };
}

export function isForGood({ untilMs, weekly }: Span): boolean {
  return untilMs === null && weekly === null;
}

/** The window of this moment, by the local day it began on; 0 where there is only one; null outside of all. */
export function windowAt({ untilMs, weekly }: Span, nowMs: number, local: () => LocalTime): number | null {
  if (untilMs !== null && nowMs >= untilMs) return null;
  if (weekly === null) return 0;
  const { day, minute, weekday } = local();
  const { days, start, end } = weekly;
  const wraps = end <= start;
  if (days.includes(isoDay(weekday)) && minute >= start && (wraps || minute < end)) return day;
  return wraps && minute < end && days.includes(isoDay(weekday + 6)) ? day - 1 : null;
}

/** Sunday is 0 in local times and 7 in ISO. */
function isoDay(weekday: number): number {
  return weekday % 7 || 7;
}

export interface HoldReach {
  readonly entityId: string | null;
  readonly includeLights: boolean;
}

/** Whether a hold of its device reaches this entity: lights only when they are asked for. */
export function reaches(
  { entityId, includeLights }: HoldReach,
  place: { readonly entityId: string; readonly entityType: string },
): boolean {
  if (place.entityId === entityId) return true;
  return place.entityType === 'light' ? includeLights : entityId === null;
}

export function minuteOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5));
}
