import { readFileSync, realpathSync } from 'node:fs';
import { relative } from 'node:path';

export type ReadResult =
  | { readonly path: string; readonly name: string; readonly text: string }
  | { readonly name: string; readonly problem: string };

/** Takes an absolute path. */
export type FileReader = (path: string) => ReadResult;

export const createFileReader =
  (cwd: string): FileReader =>
  (path) => {
    const name = displayName(cwd, path);
    try {
      const real = realpathSync(path);
      return { path: real, name, text: decode(readFileSync(real)) };
    } catch (error) {
      return { name, problem: problemOf(error) };
    }
  };

/** Paths below the working directory are shown relative to it. */
export function displayName(cwd: string, path: string): string {
  const name = relative(cwd, path);
  return name === '' || name.startsWith('..') ? path : name;
}

/** A byte order mark is dropped by the decoder. */
const decode = (bytes: Buffer): string => new TextDecoder('utf-8', { fatal: true }).decode(bytes);

const problems: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EISDIR: 'is a directory',
  EACCES: 'may not be read',
  ENOTDIR: 'no such file',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'is not UTF-8 text',
};

function problemOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return problems[code] ?? (error instanceof Error ? error.message : String(error));
}
