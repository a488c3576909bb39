/** Not in the library of TypeScript yet. */
const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };

/** Reads JSON without loss: integers beyond 2^53 become bigints, where `JSON.parse` alone gives a neighbour of them. */
export const parseExact = (text: string): unknown =>
  JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) ? integerOf(context?.source, value) : value,
  );

const integerOf = (source: string | undefined, otherwise: number): number | bigint =>
  source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : otherwise;

/** The other way round: bigints are written as plain numbers, with all their digits, as the service writes them. */
export const exactText = (value: unknown, indent?: number): string =>
  JSON.stringify(
    value,
    (_key, item: unknown) => (typeof item === 'bigint' ? rawJSON(String(item)) : item),
    indent,
  );
