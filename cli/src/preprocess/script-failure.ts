import type { Located, Preprocessed } from './preprocess.ts';

export interface ScriptFailure {
  /** With the places of the files that were written, not of the text that was sent. */
  readonly message: string;
  /** Where it went wrong: the innermost place that is known. */
  readonly at: Located | undefined;
}

const position = / \(line (\d+), position (\d+)\)$/;
/** How the language begins the lines that say by which calls it came there. */
const callLine = /\n(?=in call to function '|in closure call)/;

/** Takes the language's message apart: what went wrong, where, and the calls that led there. */
export function explainFailure(
  text: string,
  outermost: { readonly line: number; readonly column: number } | null,
  { locate }: Preprocessed,
): ScriptFailure {
  const [head = '', ...calls] = text.split(callLine);
  const placeIn = (line: string): Located | undefined => {
    const [, row, column] = position.exec(line) ?? [];
    return row === undefined ? undefined : locate({ line: Number(row), column: Number(column) });
  };
  const translated = calls.map((line) => {
    const at = placeIn(line);
    return at === undefined ? line : line.replace(position, ` (${at.name}:${at.line}:${at.column})`);
  });
  const known = calls.length === 0 && outermost !== null ? locate(outermost) : undefined;
  return { message: [head.replace(position, ''), ...translated].join('\n  '), at: placeIn(head) ?? known };
}

/** For a shell, where a function may stand in an earlier input: without places that belong to another text. */
export const withoutPlaces = (text: string): string =>
  text
    .split(callLine)
    .map((line) => line.replace(position, ''))
    .join('\n  ');
