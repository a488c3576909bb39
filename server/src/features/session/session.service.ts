import { originOf } from '../../audit/audit.store.ts';
import { clearingCookieLines } from '../../identity/cookies.ts';
import type { SessionProvider } from '../../identity/session-provider.ts';
import type { Call } from '../../kernel/call.ts';

export interface SessionDeps {
  readonly sessions: SessionProvider;
  readonly https: boolean;
}

export interface SessionService {
  /** Ends the session, if there is one, and returns the Set-Cookie lines for the browser. */
  logout(call: Call): Promise<string[]>;
}

export function createSessionService(deps: SessionDeps): SessionService {
  return { logout: (call) => logout(deps, call) };
}

async function logout({ sessions, https }: SessionDeps, call: Call): Promise<string[]> {
  const cookie = call.sessionCredential?.cookie?.reveal() ?? null;
  const sessionToken = call.sessionCredential?.sessionToken?.reveal() ?? null;
  // A key beside the cookie is who asks, but it is the cookie's session that ends. No foreign page can send a key.
  const session =
    call.session ?? (cookie === null ? null : await sessions.read({ cookie, sessionToken: null }));
  const clearing = clearingCookieLines(cookie, https);
  if (session === null) return clearing;
  const ending = { origin: originOf(call), userId: call.principal?.userId ?? null };
  return [...(await sessions.end(session, { cookie, sessionToken }, ending)), ...clearing];
}
