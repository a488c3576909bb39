import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createBatches, type Waiting } from './batches.ts';

/** Batches that end when the test says so. */
function heldBatches(lanes: number, maxSize = 100) {
  const started: { items: number[]; finish(): void }[] = [];
  const add = createBatches<number, string>({
    lanes,
    maxSize,
    run: (batch: readonly Waiting<number, string>[]) =>
      new Promise((resolve) => {
        const finish = () => {
          for (const { item, resolve: settle } of batch) settle(`done ${item}`);
          resolve();
        };
        started.push({ items: batch.map(({ item }) => item), finish });
      }),
  });
  return { add, started };
}

describe('batches', () => {
  it('share one run among those that come together', async () => {
    const { add, started } = heldBatches(1);
    const results = [add(1), add(2), add(3)];
    await nextTurn();
    expect(started.map(({ items }) => items)).toEqual([[1, 2, 3]]);
    started[0]?.finish();
    expect(await Promise.all(results)).toEqual(['done 1', 'done 2', 'done 3']);
  });

  it('gather what arrives while a run is under way, up to the size, in order', async () => {
    const { add, started } = heldBatches(1, 2);
    const results = [add(1)];
    await nextTurn();
    results.push(add(2), add(3), add(4));
    await nextTurn();
    expect(started).toHaveLength(1);
    for (let index = 0; index < 3; index += 1) {
      started[index]?.finish();
      await nextTurn();
    }
    await Promise.all(results);
    expect(started.map(({ items }) => items)).toEqual([[1], [2, 3], [4]]);
  });

  it('use no more lanes than there are, and a held one does not stop the other', async () => {
    const { add, started } = heldBatches(2);
    const held = add(1);
    await nextTurn();
    const second = add(2);
    await nextTurn();
    const third = add(3);
    await nextTurn();
    expect(started.map(({ items }) => items)).toEqual([[1], [2]]);
    started[1]?.finish();
    await second;
    await nextTurn();
    started[2]?.finish();
    expect(await third).toBe('done 3');
    started[0]?.finish();
    expect(await held).toBe('done 1');
  });

  it('reject all of a run that fails, and go on with the next', async () => {
    let failures = 1;
    const add = createBatches<number, number>({
      lanes: 1,
      maxSize: 10,
      run: async (batch) => {
        if (failures-- > 0) throw new Error('no');
        for (const { item, resolve } of batch) resolve(item);
      },
    });
    expect(await Promise.allSettled([add(1), add(2)])).toMatchObject([
      { status: 'rejected' },
      { status: 'rejected' },
    ]);
    expect(await add(3)).toBe(3);
  });

  it('reject those who wait, too, after an error that ends all, and nobody after another one', async () => {
    const errors = ['gone', 'unlucky'];
    const add = createBatches<number, number>({
      lanes: 1,
      maxSize: 1,
      run: async ([first]) => {
        const error = errors.shift();
        if (error !== undefined) throw new Error(error);
        first?.resolve(first.item);
      },
      endsAll: (error) => error instanceof Error && error.message === 'gone',
    });
    const rejected = { status: 'rejected' };
    expect(await Promise.allSettled([add(1), add(2), add(3)])).toMatchObject([rejected, rejected, rejected]);
    const served = { status: 'fulfilled', value: 5 };
    expect(await Promise.allSettled([add(4), add(5)])).toMatchObject([rejected, served]);
  });
});
