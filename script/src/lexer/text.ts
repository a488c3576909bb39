import { syntaxFault } from '../errors.ts';
import { columnOf, type Position } from '../position.ts';
import { ahead, type Cursor, looksAt, positionOf, skip, take } from './cursor.ts';
import type { Token } from './token.ts';

const simpleEscapes: Readonly<Record<string, string>> = { '\\': '\\', t: '\t', n: '\n', r: '\r' };
const hexEscapes: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

const textToken = (kind: Token['kind'], text: string, position: Position, open = false): Token => ({
  kind,
  text,
  value: 0,
  position,
  open,
});

const unterminated = (position: Position) => syntaxFault('Open string is not terminated', position);

/** After the opening quote. A doubled quote stands for one; a backslash at the end of a line joins lines. */
export function readString(cursor: Cursor, position: Position): Token {
  let text = '';
  for (;;) {
    const at = positionOf(cursor);
    const char = take(cursor);
    if (char === '' || char === '\n') throw unterminated(position);
    if (char === '"') {
      if (ahead(cursor) !== '"') return textToken('string', text, position);
      skip(cursor, 1);
      text += '"';
    } else if (char === '\\') {
      text += joinsLines(cursor, columnOf(position)) ? '' : readEscape(cursor, '"', at);
    } else {
      text += char;
    }
  }
}

/** The next line loses its indentation up to the column after the opening quote. */
function joinsLines(cursor: Cursor, quoteColumn: number): boolean {
  if (looksAt(cursor, '\r\n')) take(cursor);
  if (ahead(cursor) !== '\n') return false;
  take(cursor);
  while (cursor.column <= quoteColumn && /[ \t\f]/.test(ahead(cursor))) take(cursor);
  return true;
}

/** After the backslash. The engine points at the last character it read of a bad escape. */
function readEscape(cursor: Cursor, quote: string, start: Position): string {
  let at = positionOf(cursor);
  const mark = take(cursor);
  if (mark === '') throw unterminated(start);
  if (mark === quote) return quote;
  const simple = simpleEscapes[mark];
  if (simple !== undefined) return simple;
  let written = `\\${mark}`;
  const length = hexEscapes[mark];
  if (length === undefined) throw syntaxFault(`Invalid escape sequence: '${written}'`, at);
  for (let i = 0; i < length; i++) {
    at = positionOf(cursor);
    const digit = take(cursor);
    written += digit;
    if (!/^[0-9a-fA-F]$/.test(digit)) throw syntaxFault(`Invalid escape sequence: '${written}'`, at);
  }
  const code = Number.parseInt(written.slice(2), 16);
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
    throw syntaxFault(`Invalid escape sequence: '${written}'`, at);
  return String.fromCodePoint(code);
}

/** After the opening quote. */
export function readChar(cursor: Cursor, position: Position): Token {
  let text = '';
  let count = 0;
  for (;;) {
    const at = positionOf(cursor);
    const char = take(cursor);
    if (char === '' || char === '\n') throw unterminated(position);
    if (char === "'") break;
    text += char === '\\' ? readEscape(cursor, "'", at) : char;
    count += 1;
  }
  if (count !== 1) throw syntaxFault(`Invalid character: '${text}'`, position);
  return textToken('char', text, position);
}

/** After the `#`s and the quote. */
export function readRaw(cursor: Cursor, position: Position, hashes: number): Token {
  const end = `"${'#'.repeat(hashes)}`;
  const start = cursor.offset;
  while (!looksAt(cursor, end)) if (take(cursor) === '') throw unterminated(position);
  const text = cursor.source.slice(start, cursor.offset);
  skip(cursor, end.length);
  return textToken('string', text, position);
}

/** Text between back-ticks or between `}` and the next `${`; the token is open when `${` follows. */
export function readTemplate(cursor: Cursor, position: Position, isStart: boolean): Token {
  if (isStart) {
    if (looksAt(cursor, '\r\n')) take(cursor);
    if (ahead(cursor) === '\n') take(cursor);
  }
  let text = '';
  for (;;) {
    if (looksAt(cursor, '${')) {
      skip(cursor, 2);
      return textToken('template', text, position, true);
    }
    if (looksAt(cursor, '\\${')) {
      skip(cursor, 3);
      text += '${';
      continue;
    }
    const char = take(cursor);
    if (char === '') throw unterminated(position);
    if (char !== '`') text += char;
    else if (ahead(cursor) === '`') {
      skip(cursor, 1);
      text += '`';
    } else return textToken('template', text, position);
  }
}
