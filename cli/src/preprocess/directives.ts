import { createRegionReader, scan } from './scan.ts';

/** A statement for the preprocessor; `start` and `end` leave its `;` and its comment outside. */
export interface Directive {
  readonly start: number;
  readonly end: number;
  /** `include`, `load_json` or `load_toml`. */
  readonly word: string;
  readonly path: string;
  /** The variable of `… as name`. */
  readonly variable: string | null;
}

export interface DirectiveFault {
  readonly offset: number;
  readonly message: string;
}

export interface Directives {
  readonly found: readonly Directive[];
  readonly fault: DirectiveFault | null;
}

interface Grammar {
  readonly words: RegExp;
  readonly statement: RegExp;
  readonly usage: string;
}

const rest = String.raw`(?=[ \t]*;?[ \t]*(?:\/\/[^\n]*)?\r?(?:\n|$))`;

export const includeGrammar: Grammar = {
  words: /[ \t]*include[ \t]*"/y,
  statement: new RegExp(String.raw`[ \t]*(include)[ \t]*"([^"\n]+)"${rest}`, 'y'),
  usage: 'An include stands alone on its line: include "path"',
};

export const loadGrammar: Grammar = {
  words: /[ \t]*load_(?:json|toml)[ \t]*"/y,
  statement: new RegExp(
    String.raw`[ \t]*(load_json|load_toml)[ \t]*"([^"\n]+)"[ \t]*as[ \t]+([A-Za-z_][A-Za-z0-9_]*)${rest}`,
    'y',
  ),
  usage: 'Data are loaded on a line of their own: load_json "path.json" as name',
};

/**
 * A directive begins a line of code. The word followed by a quote is no valid script, so nothing that the language
 * itself understands is taken away from it; inside texts and comments nothing is looked at.
 */
export function findDirectives(text: string, grammar: Grammar): Directives {
  const found: Directive[] = [];
  const kindAt = createRegionReader(scan(text).regions);
  for (let line = 0; line >= 0 && line < text.length; line = nextLine(text, line)) {
    if (kindAt(line) !== 'code' || !matches(grammar.words, text, line)) continue;
    const directive = readDirective(grammar, text, line);
    if (directive === null) {
      const offset = line + text.slice(line).search(/\S/);
      return { found, fault: { offset, message: grammar.usage } };
    }
    found.push(directive);
  }
  return { found, fault: null };
}

function nextLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? -1 : end + 1;
}

function matches(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at;
  return pattern.test(text);
}

function readDirective({ statement }: Grammar, text: string, line: number): Directive | null {
  statement.lastIndex = line;
  const match = statement.exec(text);
  if (match === null) return null;
  const [whole, word = '', path = '', variable = null] = match;
  return { start: line + whole.search(/\S/), end: line + whole.length, word, path, variable };
}
