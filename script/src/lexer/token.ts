import type { Position } from '../position.ts';

export type TokenKind =
  | 'int'
  | 'float'
  | 'string'
  | 'template'
  | 'char'
  | 'name'
  | 'keyword'
  | 'reserved'
  | 'symbol'
  | 'unknown'
  | 'end';

export interface Token {
  readonly kind: TokenKind;
  /** The symbol, the name, the text of a string, or the digits as written. */
  readonly text: string;
  readonly value: number | bigint;
  readonly position: Position;
  /** A template whose text goes on after `${ … }`. */
  readonly open: boolean;
}

export const keywords: ReadonlySet<string> = new Set(
  (
    'true false let const if else switch do while until loop for in continue break return throw try catch ' +
    'fn private import export as'
  ).split(' '),
);

/** Usable as functions, never as names of anything else. */
export const specialFunctions: ReadonlySet<string> = new Set(
  'print debug type_of eval Fn call curry is_shared is_def_var is_def_fn'.split(' '),
);

export const reservedWords: ReadonlySet<string> = new Set([
  ...(
    'var static shared is goto match case public protected new use with module package super thread spawn go ' +
    'await async sync yield default void null nil this'
  ).split(' '),
  ...specialFunctions,
]);

/** Longest first, so that a prefix never wins. */
export const symbols: readonly string[] = (
  '**= <<= >>= ..= ' +
  '?? ?. ?[ .. => #{ ** << >> && || == != <= >= += -= *= /= %= &= |= ^= :: ' +
  '{ } () ( ) [ ] ; : , . = + - * / % & | ^ ! < >'
).split(' ');

/** Symbols of other languages that the engine knows by name; they are errors wherever they stand. */
export const foreignSymbols: ReadonlyMap<string, string> = new Map([
  ['===', "'===' is not a valid operator. This is not JavaScript! Should it be '=='?"],
  ['!==', "'!==' is not a valid operator. This is not JavaScript! Should it be '!='?"],
  ['->', "'->' is not a valid symbol. This is not C or C++!"],
  ['<-', "'<-' is not a valid symbol. This is not Go! Should it be '<='?"],
  [':=', "':=' is not a valid assignment operator. This is not Go or Pascal! Should it be simply '='?"],
  [':;', "':;' is not a valid symbol. Should it be '::'?"],
  ['::<', "'::<>' is not a valid symbol. This is not Rust! Should it be '::'?"],
  ['(*', "'(* .. *)' is not a valid comment format. This is not Pascal! Should it be '/* .. */'?"],
  ['*)', "'(* .. *)' is not a valid comment format. This is not Pascal! Should it be '/* .. */'?"],
  ['#', "'#' is not a valid symbol. Should it be '#{'?"],
]);

/** Symbols kept free for later: an unknown operator after an operand, a reserved symbol before one. */
export const unknownSymbols: readonly string[] = [
  '...',
  '++',
  '--',
  '!.',
  '<|',
  '|>',
  '#!',
  '@',
  '$',
  '~',
  '?',
];
