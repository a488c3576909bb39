import { parseEnv } from 'node:util';

/** A file in the format of dotenv: `KEY=value`, quotes and comments as usual. */
export function readEnvFile(text: string): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(parseEnv(text)).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}

/** One JSON object of texts, numbers and booleans. Its values are secrets, so no message repeats any of it. */
export function readSecretFile(text: string): ReadonlyMap<string, string> {
  const parsed = parseObject(text);
  return new Map(
    Object.entries(parsed).map(([key, value]) => {
      if (typeof value === 'string') return [key, value];
      if (typeof value === 'boolean') return [key, String(value)];
      throw new TypeError(`the value of ${key} is no text, number or boolean`);
    }),
  );
}

/** A number as the text of it: no digit is lost. */
const asWritten = (_key: string, value: unknown, context?: { source?: string }): unknown =>
  typeof value === 'number' ? (context?.source ?? String(value)) : value;

function parseObject(text: string): object {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text, asWritten);
  } catch {
    throw new TypeError('is not valid JSON');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new TypeError('must hold one JSON object');
  return parsed;
}
