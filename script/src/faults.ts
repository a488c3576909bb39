import { createFault, type Fault } from './errors.ts';
import type { Position } from './position.ts';
import { signature, typeName } from './values/kinds.ts';
import { Kind, type Value } from './values/value.ts';

export const variableNotFound = (name: string, position: Position): Fault =>
  createFault('ErrorVariableNotFound', `Variable not found: ${name}`, position, { variable: name });

export function functionNotFound(name: string, args: readonly Value[], position: Position): Fault {
  const text = signature(name, args);
  return createFault('ErrorFunctionNotFound', `Function not found: ${text}`, position, { function: text });
}

export const constantModified = (name: string, position: Position): Fault =>
  createFault('ErrorAssignmentToConstant', `Cannot modify constant ${name}`, position, { variable: name });

export const nonPureOnConstant = (method: string, position: Position): Fault =>
  createFault(
    'ErrorNonPureMethodCallOnConstant',
    `Non-pure method '${method}' cannot be called on constant`,
    position,
    { function: method },
  );

export function typeMismatch(value: Value, expected: string, position: Position): Fault {
  const actual = rustName(value);
  return createFault(
    'ErrorMismatchDataType',
    `Data type incorrect: ${actual} (expecting ${expected})`,
    position,
    { requested: expected, actual },
  );
}

/** Ranges have no short name in this one text of the engine. */
function rustName(value: Value): string {
  if (typeof value !== 'object' || value.k !== Kind.range) return typeName(value);
  return value.inclusive ? 'core::ops::range::RangeInclusive<i64>' : 'core::ops::range::Range<i64>';
}

export const unboundThis = (position: Position): Fault =>
  createFault('ErrorUnboundThis', "'this' not bound", position);

export const stackOverflow = (position: Position): Fault =>
  createFault('ErrorStackOverflow', 'Stack overflow', position);

export const moduleNotFound = (name: string, position: Position): Fault =>
  createFault('ErrorModuleNotFound', `Module not found: ${name}`, position, { module: name });

function property(message: string, position: Position): Fault {
  return createFault('ErrorDotExpr', message, position, { property: message });
}

export const noGetter = (name: string, of: Value, position: Position): Fault =>
  property(`Unknown property '${name}' - a getter is not registered for type '${typeName(of)}'`, position);

export const noSetter = (name: string, of: Value, value: Value, position: Position): Fault =>
  property(
    `No writable property '${name}' - a setter is not registered for type '${typeName(of)}' to handle '${typeName(value)}'`,
    position,
  );

export const noIndexer = (of: Value, index: Value, assigned: string, position: Position): Fault => {
  const type = `${typeName(of)} [${typeName(index)}]${assigned}`;
  return createFault('ErrorIndexingType', `Indexer unavailable: ${type}`, position, { type });
};

const bounds = (
  kind: 'ErrorArrayBounds' | 'ErrorStringBounds' | 'ErrorBitFieldBounds',
  message: string,
  length: number,
  index: Value,
  position: Position,
): Fault => createFault(kind, message, position, { length, index });

export function arrayBounds(length: number, index: Value, position: Position): Fault {
  const size = length === 0 ? 'array is empty' : `only ${length} element${length === 1 ? '' : 's'} in array`;
  return bounds('ErrorArrayBounds', `Array index ${index} out of bounds: ${size}`, length, index, position);
}

export function stringBounds(length: number, index: Value, position: Position): Fault {
  const size =
    length === 0 ? 'string is empty' : `only ${length} character${length === 1 ? '' : 's'} in string`;
  return bounds('ErrorStringBounds', `String index ${index} out of bounds: ${size}`, length, index, position);
}

export const bitBounds = (index: Value, position: Position): Fault =>
  bounds(
    'ErrorBitFieldBounds',
    `Bit-field index ${index} out of bounds: only 64 bits in bit-field`,
    64,
    index,
    position,
  );
