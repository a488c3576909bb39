import { api, inTime } from '../api.ts';

/** What the pages use of the identity provider's session record. */
export interface Session {
  readonly id: string;
  readonly email: string;
  readonly isByLink: boolean;
}

interface SessionRecord {
  readonly id?: unknown;
  readonly identity?: { readonly traits?: { readonly email?: unknown } };
  readonly authentication_methods?: readonly { readonly method?: unknown }[];
}

export async function readSession(): Promise<Session | null> {
  const record = (await api('get_auth_session', { signal: inTime() })) as SessionRecord | null;
  if (record === null) return null;
  return {
    id: String(record.id),
    email: String(record.identity?.traits?.email ?? ''),
    isByLink: record.authentication_methods?.some(({ method }) => method === 'link_recovery') ?? false,
  };
}

export async function signOut(): Promise<void> {
  await api('post_auth_logout', { signal: inTime() });
}
