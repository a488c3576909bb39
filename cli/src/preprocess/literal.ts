import { escapeText } from '@lintel/script/values/escape';

/** Data as the loaders read them: bigints are integers, numbers are floats, `NumberText` is a number as it was written. */
export type Data =
  | null
  | boolean
  | string
  | bigint
  | number
  | NumberText
  | readonly Data[]
  | { readonly [key: string]: Data };

/** Keeps integers of 64 bits and the difference between 1 and 1.0. */
export interface NumberText {
  readonly numberText: string;
}

const isNumberText = (data: object): data is NumberText =>
  Object.getPrototypeOf(data) === numberTextPrototype;
const numberTextPrototype = Object.freeze({});

export const numberText = (text: string): NumberText =>
  Object.freeze(Object.assign(Object.create(numberTextPrototype), { numberText: text }));

/** Writes data as a literal of the language, on one line. */
export function toLiteral(data: Data): string {
  if (typeof data === 'string') return textLiteral(data);
  if (typeof data === 'number') return floatLiteral(data);
  if (typeof data === 'boolean' || typeof data === 'bigint') return String(data);
  return containerLiteral(data);
}

function containerLiteral(data: Exclude<Data, string | number | boolean | bigint>): string {
  if (data === null) return '()';
  if (Array.isArray(data)) return `[${data.map(toLiteral).join(', ')}]`;
  if (isNumberText(data)) return data.numberText;
  const members = Object.entries(data).map(([key, value]) => `${textLiteral(key)}: ${toLiteral(value)}`);
  return members.length === 0 ? '#{}' : `#{ ${members.join(', ')} }`;
}

const textLiteral = (text: string): string => `"${escapeText(text, fourDigits)}"`;

const fourDigits = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

function floatLiteral(value: number): string {
  if (!Number.isFinite(value)) throw new RangeError(`${value} can not be written in a script`);
  if (Object.is(value, -0)) return '-0.0';
  const text = String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}
