import { systemClock } from '../../src/kernel/clock.ts';

/** Limits for `vi.waitFor` that only end a test which fails; its own second is too short for a busy machine. */
export const soon = { timeout: 20_000, interval: 20 };

/** Waits for the world to become so; the limit is only there to end a test that fails. */
export async function eventually(
  isSo: () => boolean | Promise<boolean>,
  withinMs = 15_000,
  everyMs = 10,
): Promise<void> {
  const until = systemClock.monotonicMs() + withinMs;
  while (!(await isSo())) {
    if (systemClock.monotonicMs() > until) throw new Error(`never became true: ${isSo}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
