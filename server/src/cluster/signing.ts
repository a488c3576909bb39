import { createHmac } from 'node:crypto';
import { equalInConstantTime, generateToken, hmacSha256, Secret, sha256 } from '../kernel/secret.ts';

/** What goes with a message, beside its body. */
export interface Seal {
  /** By the database's time, in milliseconds: the clocks of nodes are never compared. */
  readonly time: string;
  readonly nonce: string;
  readonly signature: string;
}

/** Where a message goes: a seal for one place is worth nothing at another. */
export interface Place {
  readonly nodeId: string;
  readonly method: string;
  readonly path: string;
}

export interface Signing {
  seal(place: Place, body: string): Seal;
  /** Whether a message comes from a node of this installation, is meant for this place, fresh, and here for the first time. */
  admits(place: Place, body: string, seal: Seal): boolean;
  sealAnswer(nonce: string, body: string): string;
  isAnswer(nonce: string, body: string, signature: string): boolean;
}

const windowMs = 30_000;

/** All nodes share the pepper, so there is nothing to set; whoever wants a secret of its own for this sets one. */
export function clusterKey(pepper: Secret, secret: Secret | null): Secret {
  return new Secret(hmacSha256(secret ?? pepper, 'node to node').toString('base64url'));
}

export function createSigning(key: Secret, databaseMs: () => number | null): Signing {
  const seen = createNonces();
  const sign = (parts: readonly string[]): string =>
    createHmac('sha256', key.reveal()).update(parts.join('\n')).digest('base64url');
  const digest = (body: string): string => sha256(body).toString('base64url');
  const requestParts = (place: Place, body: string, { time, nonce }: Omit<Seal, 'signature'>) => [
    'request',
    place.nodeId,
    place.method,
    place.path,
    digest(body),
    time,
    nonce,
  ];
  const isSame = (a: string, b: string) => equalInConstantTime(Buffer.from(a), Buffer.from(b));
  const sealAnswer = (nonce: string, body: string) => sign(['answer', nonce, digest(body)]);
  return {
    seal(place, body) {
      const seal = { time: String(Math.round(databaseMs() ?? 0)), nonce: generateToken(16) };
      return { ...seal, signature: sign(requestParts(place, body, seal)) };
    },
    admits(place, body, seal) {
      const now = databaseMs();
      if (now === null || !isSame(seal.signature, sign(requestParts(place, body, seal)))) return false;
      const isFresh = Math.abs(Number(seal.time) - now) <= windowMs;
      // Only what is signed is remembered, so nobody else can fill the memory.
      return isFresh && seen.isFirst(seal.nonce, now);
    },
    sealAnswer,
    isAnswer: (nonce, body, signature) => isSame(signature, sealAnswer(nonce, body)),
  };
}

/** Each is kept until no seal that carries it can be fresh any more. In order of arrival, so the oldest come first. */
function createNonces() {
  const until = new Map<string, number>();
  return {
    isFirst(nonce: string, now: number): boolean {
      for (const [known, end] of until) {
        if (end > now) break;
        until.delete(known);
      }
      if (until.has(nonce)) return false;
      until.set(nonce, now + 2 * windowMs);
      return true;
    },
  };
}
