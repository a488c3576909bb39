import type { Handlers } from '../../src/kernel/handler.ts';

/** Handlers of which some can be put out of order while the app runs: each call asks what is wrong at the moment. */
export function faultyHandlers(good: Handlers, faults: () => Partial<Handlers>): Handlers {
  const entries = Object.entries(good).map(([id, handler]) => {
    const current = () => (Reflect.get(faults(), id) ?? handler) as typeof handler;
    return [id, (input: never) => current()(input)];
  });
  return Object.fromEntries(entries) as unknown as Handlers;
}
