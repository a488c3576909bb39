import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { preferredNode } from './rendezvous.rules.ts';

const nodes = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 6 });

describe('the node a lease falls to', () => {
  it('is the same for all who ask, in whatever order they know the nodes', () => {
    fc.assert(
      fc.property(nodes, fc.string(), (ids, lease) => {
        expect(preferredNode(ids.toReversed(), lease)).toBe(preferredNode(ids, lease));
      }),
    );
  });

  it('changes only when that node goes, or to one that comes', () => {
    fc.assert(
      fc.property(nodes, fc.string(), fc.string({ minLength: 1 }), (ids, lease, joined) => {
        const before = preferredNode(ids, lease);
        const after = preferredNode([...ids, joined], lease);
        expect([before, joined]).toContain(after);
      }),
    );
  });

  it('gives each about its share', () => {
    const counts = new Map<string | null, number>();
    for (let index = 0; index < 3_000; index += 1) {
      const id = preferredNode(['a', 'b', 'c'], `lease ${index}`);
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    for (const id of ['a', 'b', 'c']) expect(counts.get(id)).toBeGreaterThan(850);
    expect(preferredNode([], 'lease')).toBeNull();
  });
});
