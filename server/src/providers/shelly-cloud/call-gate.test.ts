import { describe, expect, it } from 'vitest';
import { systemClock } from '../../kernel/clock.ts';
import { createCallGate } from './call-gate.ts';

const { signal } = new AbortController();
const never = Number.POSITIVE_INFINITY;

describe('the call gate', () => {
  it('lets calls go in order, never closer together than the interval', async () => {
    let now = 0;
    const gate = createCallGate({ ...systemClock, monotonicMs: () => now }, 10);
    const went: string[] = [];
    const go = (name: string) => gate.takePlace(never, signal).then(() => went.push(name));
    await go('a');
    const [b, c] = [go('b'), go('c')];
    now = 9;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(went).toEqual(['a']);
    now = 10;
    await b;
    now = 19;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(went).toEqual(['a', 'b']);
    now = 20;
    await c;
    expect(went).toEqual(['a', 'b', 'c']);
  });

  it('gives a reading only a place that no command waits for', async () => {
    const gate = createCallGate(systemClock, 20);
    const order: string[] = [];
    const go = (name: string, place: Promise<boolean>) => place.then(() => order.push(name));
    await gate.takePlace(never, signal);
    const reading = go('reading', gate.takeFreePlace(signal));
    const commands = ['a', 'b'].map((name) => go(name, gate.takePlace(never, signal)));
    await Promise.all([reading, ...commands]);
    expect(order).toEqual(['a', 'b', 'reading']);
  });

  it('turns away at once what cannot go before its deadline', async () => {
    const clock = { ...systemClock, monotonicMs: () => 0 };
    const gate = createCallGate(clock, 1000);
    expect(await gate.takePlace(10, signal)).toBe(true);
    expect(await gate.takePlace(1000, signal)).toBe(false);
    expect(await gate.takePlace(0, signal)).toBe(false);
  });

  it('stops waiting when told, and lets the next one through', async () => {
    const gate = createCallGate(systemClock, 50);
    await gate.takePlace(never, signal);
    const stopping = new AbortController();
    const stopped = gate.takePlace(never, stopping.signal);
    const next = gate.takePlace(never, signal);
    stopping.abort();
    expect(await stopped).toBe(false);
    expect(await next).toBe(true);
    expect(await gate.takeFreePlace(stopping.signal)).toBe(false);
  });
});
