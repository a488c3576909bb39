import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLru } from './lru.ts';

type Entry = [key: number, value: number | undefined];

const step = fc.oneof(
  fc.record({ kind: fc.constant('get' as const), key: fc.nat(6) }),
  fc.record({
    kind: fc.constant('set' as const),
    key: fc.nat(6),
    value: fc.option(fc.nat(), { nil: undefined }),
  }),
  fc.record({ kind: fc.constant('delete' as const), key: fc.nat(6) }),
  fc.record({ kind: fc.constant('clear' as const), key: fc.constant(0) }),
);

describe('createLru', () => {
  it('drops the entry unused for longest', () => {
    const lru = createLru<string, number>(2);
    lru.set('a', 1);
    lru.set('b', 2);
    expect(lru.get('a')).toBe(1);
    lru.set('c', 3);
    expect(lru.get('b')).toBeUndefined();
    expect([lru.get('a'), lru.get('c'), lru.size()]).toEqual([1, 3, 2]);
  });

  it('does not drop anything when it replaces a value', () => {
    const lru = createLru<string, number>(2);
    lru.set('a', 1);
    lru.set('b', 2);
    lru.set('a', 9);
    expect([lru.get('a'), lru.get('b'), lru.size()]).toEqual([9, 2, 2]);
  });

  it('counts reading a stored undefined as use', () => {
    const lru = createLru<string, undefined>(2);
    lru.set('a', undefined);
    lru.set('b', undefined);
    lru.get('a');
    lru.set('c', undefined);
    expect([lru.delete('a'), lru.delete('b')]).toEqual([true, false]);
  });

  it('behaves like a list kept in order of use', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 60 }), (max, steps) => {
        const lru = createLru<number, number | undefined>(max);
        let model: Entry[] = [];
        for (const action of steps) {
          const found = model.find(([key]) => key === action.key);
          const others = model.filter(([key]) => key !== action.key);
          if (action.kind === 'get') {
            expect(lru.get(action.key)).toBe(found?.[1]);
            model = found === undefined ? others : [...others, found];
          } else if (action.kind === 'set') {
            lru.set(action.key, action.value);
            model = [...others, [action.key, action.value] satisfies Entry].slice(-max);
          } else if (action.kind === 'delete') {
            expect(lru.delete(action.key)).toBe(found !== undefined);
            model = others;
          } else {
            lru.clear();
            model = [];
          }
          expect(lru.size()).toBe(model.length);
        }
      }),
      { numRuns: 500 },
    );
  });

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('refuses the bound %d', (max) => {
    expect(() => createLru(max)).toThrow(RangeError);
  });
});
