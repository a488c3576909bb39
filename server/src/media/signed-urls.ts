import type { Clock } from '../kernel/clock.ts';
import { equalInConstantTime, hmacSha256, Secret } from '../kernel/secret.ts';

export interface SignedUrl {
  readonly url: string;
  readonly expiresInSeconds: number;
}

export interface SignedUrls {
  sign(key: string): SignedUrl;
  /** Whether this very key was signed by us and the time is not over. */
  verify(key: string, expires: unknown, signature: unknown): boolean;
}

/** An address works for whoever holds it, so not for long; long enough for a page that shows it to stay open. */
export const urlLifetimeSeconds = 900;

export function createSignedUrls(deps: {
  readonly pepper: Secret;
  readonly clock: Clock;
  readonly publicUrl: string;
}): SignedUrls {
  // A key of its own, so that no other use of the pepper can be made to produce a signature.
  const signingKey = new Secret(hmacSha256(deps.pepper, 'lintel media url v1').toString('hex'));
  const nowSeconds = () => Math.floor(deps.clock.millis() / 1000);
  const signatureOf = (key: string, expires: number) => hmacSha256(signingKey, `${expires}\n${key}`);
  return {
    sign: (key) => {
      const expires = nowSeconds() + urlLifetimeSeconds;
      const signature = signatureOf(key, expires).toString('base64url');
      const url = `${deps.publicUrl}/media/${key}?expires=${expires}&signature=${signature}`;
      return { url, expiresInSeconds: urlLifetimeSeconds };
    },
    verify: (key, expires, signature) => {
      if (typeof expires !== 'string' || !/^[1-9]\d{9,11}$/.test(expires)) return false;
      if (typeof signature !== 'string' || !/^[\w-]{43}$/.test(signature)) return false;
      const expected = Buffer.from(signatureOf(key, Number(expires)).toString('base64url'));
      return equalInConstantTime(Buffer.from(signature), expected) && Number(expires) > nowSeconds();
    },
  };
}
