export interface TokenFormat {
  /** For example http://localhost:8080/api/v1 */
  readonly apiBase: string;
  readonly brand: string;
}

const secretPattern = /^[A-Za-z0-9_-]{43}$/;

export function formatToken(format: TokenFormat, secret: string): string {
  return `${format.apiBase}_${format.brand}_${secret}`;
}

/**
 * The base must be this service's own, with or without the API path and a trailing slash: older and newer clients
 * differ. The separator may occur in the secret, never in the base, so the base is matched, not searched.
 */
export function parseToken(format: TokenFormat, token: string): string | null {
  const text = token.trim();
  const base = acceptedBases(format.apiBase).find((candidate) =>
    text.startsWith(`${candidate}_${format.brand}_`),
  );
  if (base === undefined) return null;
  const secret = text.slice(`${base}_${format.brand}_`.length);
  return secretPattern.test(secret) ? secret : null;
}

function acceptedBases(apiBase: string): string[] {
  const origin = apiBase.replace(/\/api\/v1$/, '');
  return [apiBase, `${apiBase}/`, origin, `${origin}/`];
}
