import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { hmacSha256, type Secret } from '../kernel/secret.ts';

export interface BusCipher {
  lock(text: string): string;
  /** Null for what was not locked by a node of this installation. */
  unlock(locked: string): string | null;
}

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/**
 * For what is secret between nodes, which may talk over plain HTTP or a shared NATS. That a message is new, and from a
 * node, is the matter of its seal.
 */
export function createBusCipher(key: Secret): BusCipher {
  const own = hmacSha256(key, 'secret between nodes');
  return {
    lock(text) {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv(algorithm, own, iv);
      const locked = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), locked]).toString('base64');
    },
    unlock(locked) {
      const bytes = Buffer.from(locked, 'base64');
      if (bytes.length < ivBytes + tagBytes) return null;
      const decipher = createDecipheriv(algorithm, own, bytes.subarray(0, ivBytes));
      decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
      try {
        const text = Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]);
        return text.toString('utf8');
      } catch {
        return null;
      }
    },
  };
}
