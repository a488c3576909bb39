import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createTurns } from './turns.ts';

function turnsAt(connections: number) {
  const clock = { nowMs: 0 };
  const turns = createTurns(connections, { monotonicMs: () => clock.nowMs });
  /** The names of those who got their turn, or were refused. */
  const log: string[] = [];
  const take = (name: string): void => {
    turns.take().then(
      () => log.push(name),
      () => log.push(`not ${name}`),
    );
  };
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return { clock, turns, log, take, settled };
}

describe('turns', () => {
  it('are given in order, no more at once than there are connections', async () => {
    const { turns, log, take, settled } = turnsAt(2);
    for (const name of ['a', 'b', 'c', 'd']) take(name);
    await settled();
    expect([log, turns.waiting()]).toEqual([['a', 'b'], 2]);
    turns.giveBack();
    await settled();
    expect(log).toEqual(['a', 'b', 'c']);
    turns.giveBack();
    turns.giveBack();
    turns.giveBack();
    take('e');
    await settled();
    expect([log, turns.waiting()]).toEqual([['a', 'b', 'c', 'd', 'e'], 0]);
  });

  it('are refused to all who wait when nobody is answered', async () => {
    const { clock, turns, log, take, settled } = turnsAt(1);
    for (const name of ['a', 'b', 'c']) take(name);
    clock.nowMs = 1_500;
    turns.unanswered();
    await settled();
    expect(log).toEqual(['a', 'not b', 'not c']);
    expect(turns.isSilent()).toBe(true);
    turns.giveBack();
    take('d');
    await settled();
    expect(log.at(-1)).toBe('d');
  });

  it('are refused, too, when the only answer was under way already', async () => {
    const { clock, turns, log, take, settled } = turnsAt(1);
    for (const name of ['a', 'b']) take(name);
    clock.nowMs = 5;
    turns.answered();
    clock.nowMs = 1_505;
    turns.unanswered();
    await settled();
    expect(log).toEqual(['a', 'not b']);
  });

  it('are waited for as long as others are answered', async () => {
    const { clock, turns, log, take, settled } = turnsAt(1);
    for (const name of ['a', 'b']) take(name);
    clock.nowMs = 700;
    turns.answered();
    clock.nowMs = 1_500;
    turns.unanswered();
    await settled();
    expect([log, turns.waiting(), turns.isSilent()]).toEqual([['a'], 1, false]);
    turns.giveBack();
    await settled();
    expect(log).toEqual(['a', 'b']);
  });

  it('are quiet no longer than until the next answer', () => {
    const { turns } = turnsAt(1);
    turns.unanswered();
    expect(turns.isSilent()).toBe(true);
    turns.answered();
    expect(turns.isSilent()).toBe(false);
  });
});

describe('an answer that is waited for', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** When a statement without an answer is given up, while others are answered at these times. */
  async function givenUpAfter(...answeredMs: number[]): Promise<number> {
    const since = Date.now();
    const passed = (): number => Date.now() - since;
    const turns = createTurns(1, { monotonicMs: passed });
    for (const ms of answeredMs) setTimeout(() => turns.answered(), ms);
    const end = turns.inTime(new Promise<never>(() => undefined)).catch(passed);
    await vi.runAllTimersAsync();
    return await end;
  }

  it.each([
    ['when nobody is answered', [], 1_500],
    ['after the last answer, be it one that was under way', [5], 1_505],
    ['after five seconds, however many are answered', [1_000, 2_000, 3_000, 4_000, 4_900], 5_000],
  ])('is given up %s', async (_name, answered, expected) => {
    expect(await givenUpAfter(...answered)).toBe(expected);
  });

  it('is still taken by a process that stood still and finds its timers due first', async () => {
    let stoodMs = 0;
    const turns = createTurns(1, { monotonicMs: () => Date.now() + stoodMs });
    const { promise, resolve } = Promise.withResolvers<string>();
    const answer = turns.inTime(promise);
    stoodMs = 10_000;
    await vi.advanceTimersByTimeAsync(1_500);
    resolve('row');
    expect(await answer).toBe('row');
  });

  it('is given up by a process that stood still and then hears nothing', async () => {
    const since = Date.now();
    let stoodMs = 0;
    const turns = createTurns(1, { monotonicMs: () => Date.now() + stoodMs });
    const end = turns.inTime(new Promise<never>(() => undefined)).catch(() => Date.now() - since);
    stoodMs = 10_000;
    await vi.runAllTimersAsync();
    expect(await end).toBe(1_750);
  });

  it('is taken when it comes, and nothing is left of the waiting', async () => {
    const turns = createTurns(1, { monotonicMs: () => Date.now() });
    expect(await turns.inTime(Promise.resolve('row'))).toBe('row');
    expect(vi.getTimerCount()).toBe(0);
  });
});
