import {
  createFlow,
  expiry,
  loadFlow,
  type OpenFlow,
  present,
  type Refusal,
  requireSameBrowser,
  safeReturnTo,
} from './flow.service.ts';
import type {
  ActiveSession,
  FlowKind,
  FlowType,
  Identity,
  IdentityDeps,
  IdentityRequest,
} from './identity-model.ts';
import type { SignedIn } from './issue-session.ts';
import { KratosError } from './kratos-error.ts';
import { type FlowSuccess, submitLogin } from './login.service.ts';
import { submitRegistration } from './registration.service.ts';
import { readSession } from './request-session.ts';
import {
  createLogoutUrl,
  endMySession,
  endOtherSessions,
  listOtherSessions,
  logoutBrowser,
  logoutByToken,
  requireSession,
} from './sessions.service.ts';
import { requireOwner, type Saved, signInFirst, submitSettings } from './settings.service.ts';
import { isSignInCodeOpen, signInWithCode } from './sign-in-link.service.ts';

export interface FlowQuery {
  readonly returnTo: string | undefined;
  readonly refresh: boolean;
}

export type SubmitResult = FlowSuccess | Saved | Refusal;

/** The built-in identity provider, without HTTP. Refusals that are no flow are thrown as KratosError. */
export interface BuiltinProvider {
  readonly baseUrl: string;
  startFlow(request: IdentityRequest, kind: FlowKind, type: FlowType, query: FlowQuery): Promise<OpenFlow>;
  readFlow(request: IdentityRequest, kind: FlowKind, id: unknown): Promise<OpenFlow>;
  submitFlow(request: IdentityRequest, kind: FlowKind, id: unknown, body: unknown): Promise<SubmitResult>;
  whoami(request: IdentityRequest): Promise<ActiveSession>;
  listOtherSessions(request: IdentityRequest): Promise<ActiveSession[]>;
  endOtherSessions(request: IdentityRequest): Promise<number>;
  endMySession(request: IdentityRequest, id: string): Promise<void>;
  createLogoutUrl(
    request: IdentityRequest,
    returnTo: string | undefined,
  ): Promise<{ logout_url: string; logout_token: string }>;
  logoutBrowser(
    request: IdentityRequest,
    query: { token: string | undefined; returnTo: string | undefined },
  ): Promise<string>;
  logoutByToken(request: IdentityRequest, token: unknown): Promise<void>;
  isSignInCodeOpen(code: unknown): Promise<boolean>;
  signInWithCode(request: IdentityRequest, code: unknown): Promise<SignedIn | null>;
}

const submitters = {
  login: submitLogin,
  registration: submitRegistration,
  settings: submitSettings,
} as const;

export function createBuiltinProvider(deps: IdentityDeps): BuiltinProvider {
  return {
    baseUrl: deps.baseUrl,
    startFlow: (request, kind, type, query) => startFlow(deps, request, kind, type, query),
    readFlow: (request, kind, id) => readFlow(deps, request, kind, id),
    submitFlow: (request, kind, id, body) => submitters[kind](deps, request, id, body),
    whoami: (request) => requireSession(deps, request),
    listOtherSessions: (request) => listOtherSessions(deps, request),
    endOtherSessions: (request) => endOtherSessions(deps, request),
    endMySession: (request, id) => endMySession(deps, request, id),
    createLogoutUrl: (request, returnTo) => createLogoutUrl(deps, request, returnTo),
    logoutBrowser: (request, query) => logoutBrowser(deps, request, query),
    logoutByToken: (request, token) => logoutByToken(deps, request, token),
    isSignInCodeOpen: (code) => isSignInCodeOpen(deps, code),
    signInWithCode: (request, code) => signInWithCode(deps, request, code),
  };
}

async function startFlow(
  deps: IdentityDeps,
  request: IdentityRequest,
  kind: FlowKind,
  type: FlowType,
  query: FlowQuery,
): Promise<OpenFlow> {
  const returnTo = safeReturnTo(deps, query.returnTo);
  const session = await readSession(deps, request);
  if (kind === 'settings') {
    if (session === null) throw signInForSettings(deps);
    const { identity } = session;
    return createFlow(deps, request, { kind, type, returnTo, refresh: false, identity });
  }
  const refresh = kind === 'login' && query.refresh && session !== null;
  if (session !== null && !refresh) {
    throw new KratosError('session_already_available', { redirectTo: returnTo ?? `${deps.publicUrl}/` });
  }
  return createFlow(deps, request, { kind, type, returnTo, refresh });
}

function signInForSettings(deps: IdentityDeps): KratosError {
  const back = encodeURIComponent(`${deps.baseUrl}/self-service/settings/browser`);
  return new KratosError('session_inactive', {
    redirectTo: `${deps.baseUrl}/self-service/login/browser?return_to=${back}`,
  });
}

async function readFlow(
  deps: IdentityDeps,
  request: IdentityRequest,
  kind: FlowKind,
  id: unknown,
): Promise<OpenFlow> {
  const flow = await loadFlow(deps, kind, id);
  const csrfSecret = requireSameBrowser(deps, request, flow);
  if (flow.expiresAt <= deps.clock.now()) {
    throw new KratosError('self_service_flow_expired', {
      extra: expiry(deps, flow),
      redirectTo: `${deps.baseUrl}/self-service/${kind}/browser`,
    });
  }
  let identity: Identity | undefined;
  if (kind === 'settings') {
    const session = await readSession(deps, request);
    if (session === null) throw signInFirst(deps, flow);
    requireOwner(flow, session);
    identity = session.identity;
  }
  return present(deps, flow, csrfSecret, identity);
}
