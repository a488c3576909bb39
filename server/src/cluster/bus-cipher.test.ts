import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Secret } from '../kernel/secret.ts';
import { createBusCipher } from './bus-cipher.ts';

const key = new Secret('of all nodes');

describe('what is locked between nodes', () => {
  it('is read by every node of the installation, and looks different each time', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const [one, two] = [createBusCipher(key).lock(text), createBusCipher(key).lock(text)];
        expect(one).not.toBe(two);
        expect(createBusCipher(key).unlock(one)).toBe(text);
      }),
    );
  });

  it('is not read with another secret, nor after any byte was changed', () => {
    const locked = createBusCipher(key).lock('a secret');
    expect(createBusCipher(new Secret('another')).unlock(locked)).toBeNull();
    const bytes = Buffer.from(locked, 'base64');
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(createBusCipher(key).unlock(changed.toString('base64'))).toBeNull();
    }
    expect(createBusCipher(key).unlock('')).toBeNull();
  });
});
