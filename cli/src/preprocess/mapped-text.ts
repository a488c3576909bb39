import type { Place } from './source-place.ts';

/** A stretch of text that knows where it comes from. */
export interface Piece {
  readonly text: string;
  readonly place: Place;
  /** What was written at the place when the text is not what stands there: `{{KEY}}`, `load_json "a.json"`. */
  readonly insteadOf: string | null;
}

export type MappedText = readonly Piece[];

export const textOf = (pieces: MappedText): string => pieces.map(({ text }) => text).join('');

export const generated = (text: string, place: Place, insteadOf: string): Piece => ({
  text,
  place,
  insteadOf,
});

export const verbatim = (text: string, place: Place): Piece => ({ text, place, insteadOf: null });

export interface Origin {
  readonly place: Place;
  readonly insteadOf: string | null;
}

/** Where the character at the offset comes from; at the very end, the end of the last piece. */
export function originAt(pieces: MappedText, offset: number): Origin | null {
  let start = 0;
  for (const piece of pieces) {
    if (offset < start + piece.text.length) return originIn(piece, offset - start);
    start += piece.text.length;
  }
  const last = pieces.at(-1);
  return last === undefined ? null : originIn(last, last.text.length);
}

function originIn({ place, insteadOf }: Piece, inside: number): Origin {
  const { unit, offset } = place;
  return { place: { unit, offset: insteadOf === null ? offset + inside : offset }, insteadOf };
}

export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly pieces: MappedText;
}

/** Puts other text in the place of some stretches, which must be in order and apart. */
export function replaceIn(pieces: MappedText, replacements: readonly Replacement[]): MappedText {
  const result: Piece[] = [];
  let from = 0;
  for (const { start, end, pieces: inserted } of replacements) {
    result.push(...cut(pieces, from, start), ...inserted);
    from = end;
  }
  result.push(...cut(pieces, from, Number.POSITIVE_INFINITY));
  return result;
}

function cut(pieces: MappedText, from: number, to: number): Piece[] {
  const result: Piece[] = [];
  let start = 0;
  for (const piece of pieces) {
    const head = Math.max(from - start, 0);
    const tail = Math.min(to - start, piece.text.length);
    if (head < tail) result.push(part(piece, head, tail));
    start += piece.text.length;
  }
  return result;
}

function part(piece: Piece, head: number, tail: number): Piece {
  const text = piece.text.slice(head, tail);
  if (piece.insteadOf !== null) return { ...piece, text };
  return verbatim(text, { unit: piece.place.unit, offset: piece.place.offset + head });
}
