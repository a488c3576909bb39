import { charge, type Meter } from '../meter.ts';

/** Text is indexed by Unicode scalars; JavaScript indexes by UTF-16 units, which is the same without surrogates. */
const surrogates = /[\ud800-\udfff]/;

let lastText = '';
let lastIsSimple = true;

/** Remembers one answer: loops ask for the same text again and again. */
export function isSimple(text: string): boolean {
  if (text.length < 16) return !surrogates.test(text);
  if (text !== lastText) {
    lastText = text;
    lastIsSimple = !surrogates.test(text);
  }
  return lastIsSimple;
}

/** Pays for going through a text, unless it is the one that was looked at last and needs no search. */
export function visitText(meter: Meter, text: string): void {
  if (text.length > 1024 && !(text === lastText && lastIsSimple)) charge(meter, text.length * 2);
}

export function charCount(text: string): number {
  if (isSimple(text)) return text.length;
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

export const charsOf = (text: string): string[] => Array.from(text);

/** The character at an index that is known to be inside. */
export const charAt = (text: string, index: number): string =>
  isSimple(text) ? text.charAt(index) : (charsOf(text)[index] ?? '');

export const sliceChars = (text: string, start: number, end: number): string =>
  isSimple(text) ? text.slice(start, end) : charsOf(text).slice(start, end).join('');

export const spliceChars = (text: string, start: number, end: number, by: string): string =>
  sliceChars(text, 0, start) + by + sliceChars(text, end, charCount(text));
