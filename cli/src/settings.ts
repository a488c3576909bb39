import { apiBasePath } from '@lintel/contract/operations';
import { usageError } from './exit.ts';

/** What was asked for in one place: on the command line, in the environment, in the file. */
export interface Wishes {
  readonly url: string | null;
  readonly token: string | null;
  readonly orgId: string | null;
}

export interface Settings {
  readonly apiBase: string;
  readonly token: string | null;
  readonly orgId: string | null;
  /** Names the confirm header and the constant of scripts. */
  readonly brand: string;
}

const defaultUrl = 'http://localhost:8080';

/** Flags before the environment before the file. */
export function resolveSettings(flags: Wishes, environment: Wishes, stored: Wishes): Settings {
  const named = flags.url ?? environment.url;
  const given = flags.token ?? environment.token;
  const fromToken = given === null ? null : (readToken(given)?.base ?? null);
  const apiBase = toApiBase(named ?? fromToken ?? stored.url ?? defaultUrl);
  // INVARIANT: a stored token goes to the service it was stored for, and to no other that a variable happens to name.
  const isStoredService = stored.url !== null && toApiBase(stored.url) === apiBase;
  const token = given ?? (isStoredService ? stored.token : null);
  return {
    apiBase,
    token,
    orgId: flags.orgId ?? environment.orgId ?? (isStoredService ? stored.orgId : null),
    brand: (token === null ? null : readToken(token)?.brand) ?? 'service',
  };
}

/** `http://host` and `http://host/api/v1/` mean the same. */
export function toApiBase(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    throw usageError(`${url} is no http or https address`, 'For example: --url http://localhost:8080');
  const path = parsed.pathname.replace(/\/+$/, '');
  return `${parsed.origin}${path.endsWith(apiBasePath) ? path : path + apiBasePath}`;
}

/** `<api base>_<brand>_<secret>`; the secret may hold the separator, its length tells it apart. */
export function readToken(token: string): { readonly base: string; readonly brand: string } | null {
  const match = /^(https?:\/\/.+)_([a-z0-9-]+)_[A-Za-z0-9_-]{43}$/.exec(token);
  const [, base, brand] = match ?? [];
  return base === undefined || brand === undefined ? null : { base, brand };
}
