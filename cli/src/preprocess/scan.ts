export type RegionKind = 'code' | 'text' | 'comment';

/** Regions lie side by side and cover the whole text. */
export interface Region {
  readonly kind: RegionKind;
  readonly start: number;
  readonly end: number;
}

export interface Scan {
  readonly regions: readonly Region[];
  /** More lines could still complete it: a bracket, a text of several lines or a comment is open. */
  readonly isOpen: boolean;
}

interface State {
  readonly text: string;
  readonly regions: Region[];
  readonly brackets: string[];
  /** For each `${` that is open: how many brackets were open before it. */
  readonly templates: number[];
  /** A closing bracket that fits none: no further line makes that right. */
  isBroken: boolean;
  endsInside: boolean;
}

const closers: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/** Tells code from texts and comments, as the lexer of the language does, without refusing anything. */
export function scan(text: string): Scan {
  const state: State = {
    text,
    regions: [],
    brackets: [],
    templates: [],
    isBroken: false,
    endsInside: false,
  };
  let at = 0;
  while (at < text.length) at = step(state, at);
  const isOpen = state.endsInside || state.brackets.length > 0 || state.templates.length > 0;
  return { regions: state.regions, isOpen: isOpen && !state.isBroken };
}

function step(state: State, at: number): number {
  const { text } = state;
  const char = text.charAt(at);
  if (char === '/' && text[at + 1] === '/') return mark(state, 'comment', at, lineEnd(text, at));
  if (char === '/' && text[at + 1] === '*') return mark(state, 'comment', at, blockEnd(state, at));
  if (char === '"' || char === "'") return mark(state, 'text', at, quoteEnd(state, at + 1, char));
  if (char === '`') return mark(state, 'text', at, templateEnd(state, at + 1));
  if (char === '#') return rawText(state, at) ?? mark(state, 'code', at, at + 1);
  if (char === '}' && state.templates.at(-1) === state.brackets.length) {
    state.templates.pop();
    mark(state, 'code', at, at + 1);
    return mark(state, 'text', at + 1, templateEnd(state, at + 1));
  }
  countBracket(state, char);
  return mark(state, 'code', at, at + 1);
}

function mark({ regions }: State, kind: RegionKind, start: number, end: number): number {
  const last = regions.at(-1);
  if (start === end) return end;
  if (last?.kind === kind) regions[regions.length - 1] = { kind, start: last.start, end };
  else regions.push({ kind, start, end });
  return end;
}

function countBracket(state: State, char: string): void {
  const closer = closers[char];
  if (closer !== undefined) state.brackets.push(closer);
  else if (')]}'.includes(char)) {
    if (state.brackets.at(-1) === char) state.brackets.pop();
    else state.isBroken = true;
  }
}

function lineEnd(text: string, from: number): number {
  const end = text.slice(from).search(/[\r\n]/);
  return end < 0 ? text.length : from + end;
}

/** Block comments nest. */
function blockEnd(state: State, start: number): number {
  const { text } = state;
  let depth = 0;
  for (let at = start; at < text.length; ) {
    const pair = text.slice(at, at + 2);
    if (pair === '/*') depth += 1;
    if (pair === '*/') depth -= 1;
    at += pair === '/*' || pair === '*/' ? 2 : 1;
    if (depth === 0) return at;
  }
  state.endsInside = true;
  return text.length;
}

/** A text in quotes ends with its line, unless a backslash joins the next one to it. */
function quoteEnd(state: State, from: number, quote: string): number {
  const { text } = state;
  for (let at = from; at < text.length; at++) {
    const char = text[at];
    if (char === '\\') {
      at += text.startsWith('\r\n', at + 1) ? 2 : 1;
      const isLast = at >= text.length - 1;
      if (quote === '"' && isLast && (text[at] ?? '\n') === '\n') state.endsInside = true;
    } else if (char === '\n') return at;
    else if (char === quote) return at + 1;
  }
  return text.length;
}

/** Up to the closing back-tick, or up to and with the `${` after which there is code again. */
function templateEnd(state: State, from: number): number {
  const { text } = state;
  for (let at = from; at < text.length; at++) {
    if (text[at] === '`') return at + 1;
    if (text.startsWith('\\${', at)) at += 2;
    else if (text.startsWith('${', at)) {
      state.templates.push(state.brackets.length);
      return at + 2;
    }
  }
  state.endsInside = true;
  return text.length;
}

function rawText(state: State, at: number): number | null {
  const opening = /#+"/y;
  opening.lastIndex = at;
  const [opener] = opening.exec(state.text) ?? [];
  if (opener === undefined) return null;
  const ending = `"${opener.slice(0, -1)}`;
  const found = state.text.indexOf(ending, at + opener.length);
  if (found < 0) state.endsInside = true;
  return mark(state, 'text', at, found < 0 ? state.text.length : found + ending.length);
}

/** Looks regions up for offsets that only grow. */
export function createRegionReader(regions: readonly Region[]): (offset: number) => RegionKind {
  let index = 0;
  return (offset) => {
    for (;;) {
      const region = regions[index];
      if (region === undefined) return 'code';
      if (offset < region.end) return region.kind;
      index += 1;
    }
  };
}
