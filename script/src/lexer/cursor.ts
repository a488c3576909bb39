import { type Position, positionAt } from '../position.ts';

/** Walks the source by Unicode scalars and knows the position of each. */
export interface Cursor {
  readonly source: string;
  /** Offset in UTF-16 units. */
  offset: number;
  line: number;
  column: number;
}

export const createCursor = (source: string): Cursor => ({ source, offset: 0, line: 1, column: 1 });

export const positionOf = (cursor: Cursor): Position => positionAt(cursor.line, cursor.column);

/** One unit ahead, `''` at the end. Everything the grammar asks for is ASCII, so units are enough. */
export const ahead = (cursor: Cursor, distance = 0): string => cursor.source.charAt(cursor.offset + distance);

export const looksAt = (cursor: Cursor, text: string): boolean =>
  cursor.source.startsWith(text, cursor.offset);

/** Takes one scalar. */
export function take(cursor: Cursor): string {
  const code = cursor.source.codePointAt(cursor.offset);
  if (code === undefined) return '';
  const text =
    code > 0xffff
      ? cursor.source.slice(cursor.offset, cursor.offset + 2)
      : cursor.source.charAt(cursor.offset);
  cursor.offset += text.length;
  if (text === '\n') {
    cursor.line += 1;
    cursor.column = 1;
  } else {
    cursor.column += 1;
  }
  return text;
}

/** Takes `count` units of one line that are known to be ASCII. */
export function skip(cursor: Cursor, count: number): void {
  cursor.offset += count;
  cursor.column += count;
}

export const isDigit = (text: string): boolean => text >= '0' && text <= '9' && text.length === 1;
export const isLetter = (text: string): boolean =>
  text.length === 1 && ((text >= 'a' && text <= 'z') || (text >= 'A' && text <= 'Z'));
export const startsName = (text: string): boolean => isLetter(text) || text === '_';
export const continuesName = (text: string): boolean => startsName(text) || isDigit(text);
