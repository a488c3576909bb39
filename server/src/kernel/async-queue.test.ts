import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createKeyedMutex } from './async-queue.ts';

describe('createKeyedMutex', () => {
  it('runs the work of one key alone and in order of arrival, whatever finishes or fails when', async () => {
    const job = fc.record({ key: fc.constantFrom('a', 'b', 'c'), fails: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.array(job, { maxLength: 12 }), async (scheduler, jobs) => {
        const mutex = createKeyedMutex();
        const running = new Set<string>();
        const started: Record<string, number[]> = { a: [], b: [], c: [] };
        const results = jobs.map(({ key, fails }, index) =>
          mutex.run(key, async () => {
            expect(running.has(key)).toBe(false);
            running.add(key);
            started[key]?.push(index);
            await scheduler.schedule(Promise.resolve());
            running.delete(key);
            if (fails) throw new Error(`job ${index}`);
            return index;
          }),
        );
        expect(mutex.size()).toBe(new Set(jobs.map(({ key }) => key)).size);
        const settled = Promise.allSettled(results);
        await scheduler.waitFor(settled);

        expect(await settled).toEqual(
          jobs.map(({ fails }, value) =>
            fails
              ? { status: 'rejected', reason: new Error(`job ${value}`) }
              : { status: 'fulfilled', value },
          ),
        );
        for (const [key, order] of Object.entries(started)) {
          expect(order).toEqual(jobs.flatMap((entry, index) => (entry.key === key ? [index] : [])));
        }
        expect(mutex.size()).toBe(0);
      }),
    );
  });

  it('lets different keys overlap', async () => {
    const mutex = createKeyedMutex();
    const { promise: bothStarted, resolve } = Promise.withResolvers<void>();
    let started = 0;
    const meet = async () => {
      started += 1;
      if (started === 2) resolve();
      await bothStarted;
      return 'met';
    };
    expect(await Promise.all([mutex.run('a', meet), mutex.run('b', meet)])).toEqual(['met', 'met']);
  });

  it('is empty again as soon as the caller sees the result', async () => {
    const mutex = createKeyedMutex();
    await mutex.run('a', async () => {
      expect(mutex.size()).toBe(1);
    });
    expect(mutex.size()).toBe(0);
    await expect(mutex.run('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(mutex.size()).toBe(0);
  });

  it('keeps the entry while later work waits', async () => {
    const mutex = createKeyedMutex();
    const first = mutex.run('a', async () => 1);
    const second = mutex.run('a', async () => mutex.size());
    await first;
    expect(await second).toBe(1);
    expect(mutex.size()).toBe(0);
  });

  it('turns a synchronous throw into a rejection that does not stop the next', async () => {
    const mutex = createKeyedMutex();
    const broken = mutex.run('a', () => {
      throw new Error('sync');
    });
    const next = mutex.run('a', async () => 'fine');
    await expect(broken).rejects.toThrow('sync');
    expect(await next).toBe('fine');
  });
});
