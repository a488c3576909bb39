import type { Origin } from './mapped-text.ts';

export interface PreprocessFault {
  readonly message: string;
  readonly at: Origin | null;
}

/** Everything that is wrong with the text before the language sees it. */
export class PreprocessError extends Error {
  override readonly name = 'PreprocessError';
  readonly faults: readonly PreprocessFault[];

  constructor(faults: readonly PreprocessFault[]) {
    super(faults.map(({ message }) => message).join('\n'));
    this.faults = faults;
  }
}

export const preprocessError = (message: string, at: Origin | null): PreprocessError =>
  new PreprocessError([{ message, at }]);
