/** For `timestamp()`, unless the host gives a clock of its own. */
export const steadyClock = (): number => performance.now();
