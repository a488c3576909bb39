export const sessionCookieName = 'ory_kratos_session';

const nameShape = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Cookies of a request by name. Of two with one name the first wins: browsers send the more specific one first. */
export function readCookies(header: string | null): ReadonlyMap<string, string> {
  const cookies = new Map<string, string>();
  for (const part of (header ?? '').split(';')) {
    const at = part.indexOf('=');
    const name = part.slice(0, Math.max(at, 0)).trim();
    if (nameShape.test(name) && !cookies.has(name)) cookies.set(name, part.slice(at + 1).trim());
  }
  return cookies;
}

export interface CookieOptions {
  readonly https: boolean;
  readonly maxAgeSeconds: number;
}

export function setCookieLine(name: string, value: string, { https, maxAgeSeconds }: CookieOptions): string {
  const attributes = `Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax`;
  return `${name}=${value}; ${attributes}${https ? '; Secure' : ''}`;
}

export function clearCookieLine(name: string, https: boolean): string {
  return setCookieLine(name, '', { https, maxAgeSeconds: 0 });
}

/** What ends a session in the browser: its own cookie and every CSRF cookie that came along, stale ones too. */
export function clearingCookieLines(header: string | null, https: boolean): string[] {
  const csrf = [...readCookies(header).keys()].filter((name) => name.startsWith('csrf_token_'));
  return [sessionCookieName, ...csrf].map((name) => clearCookieLine(name, https));
}
