import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Secret } from '../kernel/secret.ts';
import { clusterKey, createSigning, type Seal } from './signing.ts';

const pepper = new Secret('a pepper of this test');
const place = { nodeId: 'B', method: 'POST', path: '/internal/dispatch' };

describe('the seals of nodes', () => {
  it('let a message in once', () => {
    const { a, b } = pair();
    const seal = a.seal(place, 'body');
    expect(b.admits(place, 'body', seal)).toBe(true);
    expect(b.admits(place, 'body', seal)).toBe(false);
  });

  it.each([
    ['too old', 31_000],
    ['from the future', -31_000],
  ])('keep a message out that is %s', (_how, age) => {
    const { a, b, pass } = pair();
    const seal = a.seal(place, 'body');
    pass(age);
    expect(b.admits(place, 'body', seal)).toBe(false);
  });

  it('keep a replayed message out for as long as it is fresh', () => {
    const { a, b, pass } = pair();
    pass(-29_000);
    const seal = a.seal(place, 'body');
    pass(29_000);
    expect(b.admits(place, 'body', seal)).toBe(true);
    pass(29_000);
    expect(b.admits(place, 'body', seal)).toBe(false);
  });

  it('keep everything out that was changed in any part', () => {
    const { a, b } = pair();
    fc.assert(
      fc.property(
        fc.constantFrom('nodeId', 'method', 'path', 'body', 'time', 'nonce', 'signature'),
        fc.string({ minLength: 1, maxLength: 8 }),
        (part, more) => {
          const seal = a.seal(place, 'body');
          const changed = <T extends object>(whole: T): T =>
            part in whole ? { ...whole, [part]: `${String(whole[part as keyof T])}${more}` } : whole;
          const body = part === 'body' ? `body${more}` : 'body';
          expect(b.admits(changed(place), body, changed<Seal>(seal))).toBe(false);
        },
      ),
    );
  });

  it('are worth nothing under another secret', () => {
    const stranger = createSigning(clusterKey(pepper, new Secret('other')), () => 1_000_000);
    const { a, b } = pair();
    expect(b.admits(place, 'body', stranger.seal(place, 'body'))).toBe(false);
    const { nonce } = a.seal(place, 'body');
    expect(a.isAnswer(nonce, 'yes', stranger.sealAnswer(nonce, 'yes'))).toBe(false);
  });

  it('tie an answer to its question', () => {
    const { a, b } = pair();
    const [one, two] = [a.seal(place, 'body'), a.seal(place, 'body')];
    const signature = b.sealAnswer(one.nonce, 'delivered');
    expect(a.isAnswer(one.nonce, 'delivered', signature)).toBe(true);
    expect(a.isAnswer(two.nonce, 'delivered', signature)).toBe(false);
    expect(a.isAnswer(one.nonce, 'refused', signature)).toBe(false);
  });

  it('admit nothing before the time of the database is known', () => {
    const { a } = pair();
    const early = createSigning(clusterKey(pepper, null), () => null);
    expect(early.admits(place, 'body', a.seal(place, 'body'))).toBe(false);
  });
});

/** Two nodes of one installation, and a hand on their common time. */
function pair() {
  let now = 1_000_000;
  const key = clusterKey(pepper, null);
  const [a, b] = [createSigning(key, () => now), createSigning(key, () => now)];
  return { a, b, pass: (ms: number) => (now += ms) };
}
