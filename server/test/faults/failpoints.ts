import type { EngineDeps } from '../../src/engine/engine.ts';

/** F3 (after the send, before the answer) is the device's to say: see `Door.killAt`. */
export type Failpoint = 'before T1' | 'after T1' | 'after the answer' | 'after T2';

export interface Ending {
  readonly point: Failpoint;
  /** At which pass. */
  readonly pass: number;
}

/** The real engine, which ends between two of its steps. */
export function withFailpoint(deps: EngineDeps, { point, pass }: Ending, die: () => void): EngineDeps {
  let left = pass;
  const reach = (reached: Failpoint): void => {
    if (reached !== point) return;
    left -= 1;
    if (left === 0) die();
  };
  return {
    ...deps,
    intents: {
      async open(intent) {
        reach('before T1');
        const verdict = await deps.intents.open(intent);
        if (verdict.kind === 'opened') reach('after T1');
        return verdict;
      },
    },
    deliveries: {
      ...deps.deliveries,
      async deliver(link, verb, errand) {
        const delivery = await deps.deliveries.deliver(link, verb, errand);
        reach('after the answer');
        return delivery;
      },
    },
    outcomes: {
      async write(finished) {
        const state = await deps.outcomes.write(finished);
        reach('after T2');
        return state;
      },
    },
  };
}
