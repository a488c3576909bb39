import { syntaxFault } from '../errors.ts';
import type { Position } from '../position.ts';
import {
  ahead,
  type Cursor,
  continuesName,
  createCursor,
  isDigit,
  isLetter,
  looksAt,
  positionOf,
  skip,
  startsName,
  take,
} from './cursor.ts';
import { readNumber } from './number.ts';
import { readChar, readRaw, readString, readTemplate } from './text.ts';
import { keywords, reservedWords, symbols, type Token, unknownSymbols } from './token.ts';

export interface Lexer {
  next(): Token;
  /** Goes on with the text of a template; the parser calls it right after the `}` of an interpolation. */
  resumeTemplate(position: Position): Token;
}

export function createLexer(source: string): Lexer {
  const cursor = createCursor(source);
  let last: Token | null = null;
  return {
    next: () => {
      last = readToken(cursor, last);
      return last;
    },
    resumeTemplate: (position) => {
      last = readTemplate(cursor, position, false);
      return last;
    },
  };
}

function readToken(cursor: Cursor, last: Token | null): Token {
  skipBlank(cursor);
  const position = positionOf(cursor);
  const char = ahead(cursor);
  if (char === '') return plain('end', '', position);
  if (isDigit(char)) return readNumber(cursor, position, false);
  if (startsName(char)) return readWord(cursor, position);
  if (char === '-' && isDigit(ahead(cursor, 1)) && !endsOperand(last)) {
    skip(cursor, 1);
    return readNumber(cursor, position, true);
  }
  return readQuoted(cursor, char, position) ?? readSymbol(cursor, position);
}

const plain = (kind: Token['kind'], text: string, position: Position): Token => ({
  kind,
  text,
  value: 0,
  position,
  open: false,
});

function skipBlank(cursor: Cursor): void {
  for (;;) {
    const char = ahead(cursor);
    if (char === ' ' || char === '\t' || char === '\n' || char === '\r' || char === '\f') take(cursor);
    else if (looksAt(cursor, '//')) skipLine(cursor);
    else if (looksAt(cursor, '/*')) skipBlock(cursor);
    else return;
  }
}

function skipLine(cursor: Cursor): void {
  while (ahead(cursor) !== '' && ahead(cursor) !== '\n' && ahead(cursor) !== '\r') take(cursor);
}

/** Block comments nest; one that is never closed eats the rest, as in the engine. */
function skipBlock(cursor: Cursor): void {
  let depth = 0;
  do {
    if (looksAt(cursor, '/*')) {
      depth += 1;
      skip(cursor, 2);
    } else if (looksAt(cursor, '*/')) {
      depth -= 1;
      skip(cursor, 2);
    } else if (take(cursor) === '') return;
  } while (depth > 0);
}

function readWord(cursor: Cursor, position: Position): Token {
  const start = cursor.offset;
  while (continuesName(ahead(cursor))) skip(cursor, 1);
  const text = cursor.source.slice(start, cursor.offset);
  if (text === '_') return plain('symbol', '_', position);
  if (keywords.has(text)) return plain('keyword', text, position);
  if (reservedWords.has(text)) return plain('reserved', text, position);
  if (!isLetter(text.replace(/^_+/, '').charAt(0)))
    throw syntaxFault(`Variable name is not proper: '${text}'`, position);
  return plain('name', text, position);
}

function readQuoted(cursor: Cursor, char: string, position: Position): Token | null {
  if (char === '#') {
    let hashes = 1;
    while (ahead(cursor, hashes) === '#') hashes += 1;
    if (ahead(cursor, hashes) !== '"') return null;
    skip(cursor, hashes + 1);
    return readRaw(cursor, position, hashes);
  }
  if (char !== '"' && char !== "'" && char !== '`') return null;
  skip(cursor, 1);
  if (char === '"') return readString(cursor, position);
  return char === "'" ? readChar(cursor, position) : readTemplate(cursor, position, true);
}

function readSymbol(cursor: Cursor, position: Position): Token {
  const foreign = ['===', '!==', '::<', '->', '<-', ':=', ':;', '(*', '*)'].find((text) =>
    looksAt(cursor, text),
  );
  if (foreign !== undefined) {
    skip(cursor, foreign.length);
    return plain('unknown', foreign, position);
  }
  if (looksAt(cursor, '!in') && !continuesName(ahead(cursor, 3))) {
    skip(cursor, 3);
    return plain('keyword', '!in', position);
  }
  const unknown = unknownSymbols.find((text) => text.length > 1 && looksAt(cursor, text));
  const known = unknown ?? symbols.find((text) => looksAt(cursor, text));
  const text = known ?? unknownSymbols.find((each) => looksAt(cursor, each));
  if (text !== undefined) {
    skip(cursor, text.length);
    return plain(known === undefined || unknown !== undefined ? 'unknown' : 'symbol', text, position);
  }
  if (ahead(cursor) === '#') {
    skip(cursor, 1);
    return plain('unknown', '#', position);
  }
  throw syntaxFault(`Unexpected '${take(cursor)}'`, position);
}

/** After an operand `-5` is a subtraction, anywhere else a literal. */
function endsOperand(token: Token | null): boolean {
  if (token === null) return false;
  if (token.kind === 'symbol') return [')', ']', '}', '()', '_'].includes(token.text);
  if (token.kind === 'keyword') return token.text === 'true' || token.text === 'false';
  return token.kind !== 'unknown';
}
