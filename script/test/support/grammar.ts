import type { Random } from './random.ts';

const names = ['a', 'b', 'x', 'm', 's', 'f', 'g'];
const literals = [
  '0',
  '1',
  '-1',
  '7',
  '255',
  '9223372036854775807',
  '-9223372036854775808',
  '1.5',
  '0.0',
  '1e300',
  'true',
  'false',
  '()',
  '""',
  '"ab"',
  '"héllo"',
  '"😀x"',
  "'c'",
  '[]',
  '[1, 2, 3]',
  '#{}',
  '#{ a: 1, b: [2] }',
  '1..4',
  '2..=3',
  '..3',
];
const binary = [
  '+',
  '+',
  '-',
  '*',
  '/',
  '%',
  '**',
  '<<',
  '>>',
  '&',
  '|',
  '^',
  '==',
  '!=',
  '<',
  '<=',
  '>',
  '>=',
  'in',
  '!in',
  '??',
  '..',
];
const methods = [
  'len',
  'push',
  'pop',
  'shift',
  'map',
  'filter',
  'reduce',
  'sort',
  'for_each',
  'keys',
  'values',
  'contains',
  'index_of',
  'split',
  'trim',
  'sub_string',
  'to_string',
  'to_debug',
  'type_of',
  'call',
  'curry',
  'get',
  'set',
  'remove',
  'insert',
  'pad',
  'truncate',
  'drain',
  'retain',
  'dedup',
  'zip',
  'find',
  'some',
  'all',
  'reverse',
  'to_json',
  'to_int',
  'abs',
  'replace',
  'crop',
  'chars',
  'to_chars',
  'to_blob',
  'extract',
  'splice',
  'bits',
  'get_bits',
  'set_bit',
  'take',
  'chop',
  'order',
  'mixin',
  'clear',
];
const functions = [
  'f',
  'g',
  'print',
  'len',
  'push',
  'type_of',
  'range',
  'blob',
  'Fn',
  'call',
  'parse_int',
  'parse_json',
  'max',
  'host',
  'exit',
  'timestamp',
  'is_def_var',
];

/** Scripts from the grammar, mostly well-formed; types are left to chance. */
export function generateScript(random: Random): string {
  const count = 1 + random.below(4);
  const parts: string[] = [];
  if (random.below(3) === 0) parts.push(`fn f(a) { ${statement(random, 2)} this }`);
  if (random.below(5) === 0) parts.push(`fn g() { ${statement(random, 2)} }`);
  parts.push(
    'let a = 3; let b = [1, 2.5]; let x = "t"; let m = #{ a: #{} }; let s = |v| v; let f = 1..3; let g = true;',
  );
  for (let i = 0; i < count; i++) parts.push(statement(random, 3));
  return parts.join(random.below(20) === 0 ? ' ' : '\n');
}

function statement(random: Random, depth: number): string {
  const inner = depth - 1;
  if (depth <= 0) return `${expression(random, 0)};`;
  switch (random.below(14)) {
    case 0:
    case 1:
    case 2:
      return `let ${random.pick(names)} = ${expression(random, inner)};`;
    case 3:
      return `const ${random.pick(names)} = ${expression(random, inner)};`;
    case 4:
      return `${target(random, inner)} ${random.pick(['=', '+=', '-=', '*=', '<<=', '|='])} ${expression(random, inner)};`;
    case 5:
      return `if ${condition(random, inner)} { ${statement(random, inner)} } else { ${statement(random, inner)} }`;
    case 6:
      return `for ${random.pick(names)} in ${iterable(random, inner)} { ${statement(random, inner)} }`;
    case 7:
      return `while ${condition(random, inner)} { ${statement(random, inner)} }`;
    case 8:
      return `try { ${statement(random, inner)} } catch (e) { ${statement(random, inner)} }`;
    case 9:
      return `switch ${expression(random, inner)} { ${random.pick(literals)} => ${expression(random, inner)}, _ => ${expression(random, inner)} }`;
    case 10:
      return random.below(4) === 0
        ? `loop { ${statement(random, inner)} ${random.pick(['break', 'break 1', 'continue'])}; }`
        : `${random.pick(['return', 'throw'])} ${random.below(2) === 0 ? expression(random, inner) : ''};`;
    case 11:
      return `do { ${statement(random, inner)} } ${random.pick(['while', 'until'])} ${condition(random, inner)};`;
    default:
      return `${expression(random, inner)};`;
  }
}

function target(random: Random, depth: number): string {
  const name = random.pick(names);
  return random.pick([name, `${name}.a`, `${name}[${expression(random, depth - 1)}]`, `${name}?.b.a`]);
}

export function expression(random: Random, depth: number): string {
  const inner = depth - 1;
  if (depth <= 0) return random.below(3) === 0 ? random.pick(names) : random.pick(literals);
  switch (random.below(13)) {
    case 0:
    case 1:
    case 2:
      return `${operand(random, inner)} ${random.pick(binary)} ${operand(random, inner)}`;
    case 3:
      return `${random.pick(['-', '!', '+'])}${operand(random, inner)}`;
    case 4:
    case 5:
      return `${operand(random, inner)}${random.pick(['.', '.', '?.'])}${random.pick(methods)}(${list(random, inner)})`;
    case 6:
      return `${random.pick(names)}[${expression(random, inner)}]`;
    case 7:
      return `${random.pick(functions)}(${list(random, inner)})`;
    case 8:
      return `|${random.pick(['', 'a', 'a, b'])}| ${random.below(2) === 0 ? expression(random, inner) : `{ ${statement(random, inner)} }`}`;
    case 9:
      return `\`t\${${expression(random, inner)}}\``;
    case 10:
      return `[${list(random, inner)}]`;
    case 11:
      return `if ${condition(random, inner)} { ${expression(random, inner)} } else { ${statement(random, inner)} }`;
    default:
      return `(${expression(random, inner)})`;
  }
}

/** Anything that may stand beside an operator without changing what the rest means. */
const operand = (random: Random, depth: number): string =>
  depth <= 0 ? expression(random, 0) : `(${expression(random, depth)})`;

/** A literal that is no boolean would already be a syntax error. */
const condition = (random: Random, depth: number): string =>
  random.below(3) === 0
    ? random.pick([...names, 'true', 'false'])
    : `${operand(random, depth)} ${random.pick(['==', '!=', '<', '>='])} ${operand(random, depth)}`;

const iterable = (random: Random, depth: number): string =>
  random.below(3) === 0
    ? random.pick(['0..5', '[1, 2]', '"abc"', 'range(0, 9, 3)'])
    : `[${list(random, depth)}]`;

const list = (random: Random, depth: number): string =>
  Array.from({ length: random.below(3) }, () => expression(random, depth)).join(', ');

const noise = [
  '{',
  '}',
  '(',
  ')',
  '[',
  ']',
  '"',
  '`',
  '${',
  "'",
  '#{',
  '|',
  '\\',
  '\n',
  '/*',
  '*/',
  '//',
  '_',
  '0x',
  '1e',
  '::',
  '?',
  'é',
  '😀',
  '\u0000',
  '..',
  '=>',
  'fn ',
  'this',
  '!',
  '$',
  '@',
];

/** A script with a few places changed: characters lost, doubled, exchanged, or noise put in. */
export function mutate(random: Random, source: string): string {
  let text = source;
  for (let i = 1 + random.below(4); i > 0; i--) {
    const at = random.below(text.length + 1);
    const length = random.below(4);
    const rest = text.slice(at + length);
    switch (random.below(4)) {
      case 0:
        text = text.slice(0, at) + rest;
        break;
      case 1:
        text = text.slice(0, at) + random.pick(noise) + text.slice(at);
        break;
      case 2:
        text =
          text.slice(0, at) + String.fromCharCode(random.below(random.below(20) === 0 ? 65_536 : 128)) + rest;
        break;
      default:
        text = text.slice(0, at) + text.slice(at, at + length * 3) + text.slice(at);
    }
  }
  return text;
}
