import { syntaxFault } from '../errors.ts';
import { Kind, type Value } from '../values/value.ts';
import type { Expression } from './ast.ts';

/** What a literal is, as syntax errors name it; null for anything that is known only at run time. */
function literalName(expression: Expression): string | null {
  if (expression.type === 'array') return 'an array';
  if (expression.type === 'map') return 'an object map';
  if (expression.type === 'template') return 'a string';
  return expression.type === 'const' ? constantName(expression.value) : null;
}

function constantName(value: Value): string {
  if (value === undefined) return '()';
  if (typeof value === 'boolean') return 'a boolean';
  if (typeof value === 'string') return 'a string';
  if (typeof value === 'object') return value.k === Kind.float ? 'a floating-point number' : 'a character';
  return 'a number';
}

/** `1 && true` and `if "x" {…}` can never run. */
export function requireBoolean(expression: Expression): void {
  const name = literalName(expression);
  if (name !== null && name !== 'a boolean')
    throw syntaxFault(`Expecting a boolean expression, not ${name}`, expression.position);
}

export function requireIterable(expression: Expression): void {
  const name = literalName(expression);
  if (name === null || name === 'an array' || name === 'a string') return;
  throw syntaxFault(`Expecting an iterable value, not ${name}`, expression.position);
}

/** A literal that can never be indexed, or never by a literal of this type. */
export function requireIndexable(base: Expression, index: Expression): void {
  const of = literalName(base);
  const by = literalName(index);
  if (of === null) return;
  if (['()', 'a boolean', 'a floating-point number', 'a character'].includes(of))
    throw syntaxFault('Only arrays, object maps and strings can be indexed', index.position);
  if (by === null) return;
  if (of === 'an object map') {
    if (by !== 'a string')
      throw syntaxFault(`Object map expects string index, not ${indexName(by)}`, index.position);
  } else if (by === 'a string') {
    throw syntaxFault('Array or string expects numeric index, not a string', index.position);
  } else if (by !== 'a number') {
    throw syntaxFault(
      `Array, string or bit-field expects integer index, not ${indexName(by)}`,
      index.position,
    );
  }
}

const indexName = (name: string): string => (name === 'a floating-point number' ? 'a float' : name);
