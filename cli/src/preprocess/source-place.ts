/** A file as it was read, once for each time it is included. */
export interface SourceUnit {
  /** Absolute, with links resolved: what a cycle is recognised by. */
  readonly path: string;
  /** As messages name it. */
  readonly name: string;
  readonly text: string;
  /** Where it was included; null for the script that is run. */
  readonly from: Place | null;
}

export interface Place {
  readonly unit: SourceUnit;
  /** In UTF-16 units of the unit's text. */
  readonly offset: number;
}

export interface LineColumn {
  /** Both from 1; columns count Unicode scalars, as the language does. */
  readonly line: number;
  readonly column: number;
}

export function lineColumnAt(text: string, offset: number): LineColumn {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: [...before.slice(lineStart)].length + 1 };
}

/** The end of the line for a column beyond it, the end of the text for a line beyond that. */
export function offsetAt(text: string, { line, column }: LineColumn): number {
  let start = 0;
  for (let i = 1; i < line; i++) {
    const end = text.indexOf('\n', start);
    if (end < 0) return text.length;
    start = end + 1;
  }
  const characters = [...lineAt(text, start)].slice(0, column - 1);
  return start + characters.join('').length;
}

/** The line that begins at the offset, without its end. */
export function lineAt(text: string, start: number): string {
  const end = text.indexOf('\n', start);
  return text.slice(start, end < 0 ? text.length : end);
}
