import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

export const historySize = 1000;

/** The newest line first, as readline keeps them. */
export function readHistory(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean).reverse();
  } catch {
    return [];
  }
}

/** Whoever types a secret finds it here again, so the file is its owner's alone. */
export function writeHistory(path: string, lines: readonly string[]): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const text = lines.slice(0, historySize).toReversed().join('\n');
  writeFileSync(path, text === '' ? '' : `${text}\n`, { mode: 0o600 });
}
