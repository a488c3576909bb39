/** The browser's own clock. It may be wrong, so nothing but the look of a time depends on it. */
export const now = (): Date => new Date();
