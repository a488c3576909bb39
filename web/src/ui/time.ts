import { el } from './element.ts';

const clockTime = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const dayAndTime = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});
const complete = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });

/** Times of today without the date. */
export function timeText(instant: Date, now: Date): string {
  return (instant.toDateString() === now.toDateString() ? clockTime : dayAndTime).format(instant);
}

export function timeElement(rfc3339: string, now: Date): HTMLTimeElement {
  const instant = new Date(rfc3339);
  return el('time', { datetime: rfc3339, title: complete.format(instant) }, timeText(instant, now));
}
