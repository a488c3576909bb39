import { InvalidArgumentError } from 'commander';

/** For options that may be repeated. */
export const collect = (value: string, earlier: string[] = []): string[] => [...earlier, value];

export function wholeNumber(value: string): number {
  if (!/^\d{1,9}$/.test(value)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(value);
}

/** Of a time as the service writes it. */
export const day = (time: string | null): string => time?.slice(0, 10) ?? '-';
