import { charge, type Meter, newText, tooLarge } from '../meter.ts';
import { isContainer, plainText, shortened, type Write, writeDebug, written } from './text.ts';
import type { Value } from './value.ts';

/** A new text of the script, or a fault when it would be too long for one. */
export function newWritten(meter: Meter, write: Write, value: Value): string {
  const { text, cut } = written(write, value, meter.limits.stringLength);
  if (cut === null) return newText(meter, text);
  throw tooLarge(cut === 'long' ? 'Length of string' : 'Nesting of values');
}

/** As `print`, interpolation and `+` with a string write it. */
export const textOfValue = (meter: Meter, value: Value): string =>
  isContainer(value) ? newWritten(meter, writeDebug, value) : newText(meter, plainText(value));

/** For an error: the beginning of a long text says enough. */
export function shortText(meter: Meter, value: Value): string {
  if (!isContainer(value)) return plainText(value);
  const text = shortened(writeDebug, value, meter.limits.messageLength);
  charge(meter, text.length * 2);
  return text;
}
