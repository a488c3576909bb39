/** A place in the source, packed: line × 2^21 + column, both from 1 and counted in Unicode scalars; 0 is "nowhere". */
export type Position = number;

export const nowhere: Position = 0;
const columns = 2 ** 21;

export const positionAt = (line: number, column: number): Position => line * columns + column;
export const lineOf = (position: Position): number => Math.floor(position / columns);
export const columnOf = (position: Position): number => position % columns;

export const positionText = (position: Position): string =>
  position === nowhere ? '' : ` (line ${lineOf(position)}, position ${columnOf(position)})`;
