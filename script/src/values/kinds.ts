import { Kind, type Value } from './value.ts';

/** One bit for each type, so that an overload says in one number what a parameter takes. */
export const Type = {
  unit: 1,
  bool: 2,
  int: 4,
  float: 8,
  char: 16,
  string: 32,
  array: 64,
  map: 128,
  blob: 256,
  fn: 512,
  range: 1024,
  sequence: 2048,
  timestamp: 4096,
  any: 8191,
} as const;

const boxedBits: readonly number[] = [
  0,
  Type.float,
  Type.char,
  Type.array,
  Type.map,
  Type.blob,
  Type.fn,
  Type.range,
  Type.sequence,
  Type.timestamp,
];

export function typeBit(value: Value): number {
  if (typeof value === 'number' || typeof value === 'bigint') return Type.int;
  if (typeof value === 'object') return boxedBits[value.k] ?? 0;
  if (typeof value === 'string') return Type.string;
  return typeof value === 'boolean' ? Type.bool : Type.unit;
}

const boxedNames: readonly string[] = [
  '',
  'f64',
  'char',
  'array',
  'map',
  'blob',
  'Fn',
  'range',
  'range',
  'timestamp',
];

/** As `type_of` says it. */
export function typeName(value: Value): string {
  if (typeof value === 'number' || typeof value === 'bigint') return 'i64';
  if (typeof value === 'object')
    return value.k === Kind.range && value.inclusive ? 'range=' : (boxedNames[value.k] ?? '');
  if (typeof value === 'string') return 'string';
  return typeof value === 'boolean' ? 'bool' : '()';
}

/** As a function's signature in an error says it. */
const signatureName = (value: Value): string =>
  typeof value === 'string' ? '&str | ImmutableString | String' : typeName(value);

export const signature = (name: string, args: readonly Value[]): string =>
  `${name} (${args.map(signatureName).join(', ')})`;
