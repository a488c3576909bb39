import { randomUUID } from 'node:crypto';
import { equalInConstantTime, sha256 } from '../kernel/secret.ts';
import { readCookies } from './cookies.ts';
import { csrfCookieName, isCsrfTokenOf, maskCsrf, newCsrfSecret, parseCsrfCookie } from './csrf.rules.ts';
import { findFlow, insertFlow, updateFlowMessages } from './flow.store.ts';
import { type FlowView, toFlowView } from './flow-view.ts';
import type {
  ActiveSession,
  Flow,
  FlowKind,
  FlowType,
  Identity,
  IdentityDeps,
  IdentityRequest,
  UiMessage,
} from './identity-model.ts';
import { KratosError } from './kratos-error.ts';
import { readSession } from './request-session.ts';
import { sameOriginTarget } from './return-to.rules.ts';
import { flowExpired } from './ui-messages.ts';

const flowLifetimeSeconds = 3600;
const maxUrlLength = 2000;
const uuidShape = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A flow as its client sees it, with the secret of the browser's CSRF cookie; null for api flows. */
export interface OpenFlow {
  readonly flow: Flow;
  readonly view: FlowView;
  readonly csrfSecret: Buffer | null;
}

export interface NewFlowOptions {
  readonly kind: FlowKind;
  readonly type: FlowType;
  readonly returnTo: string | null;
  readonly refresh: boolean;
  readonly identity?: Identity;
  readonly messages?: readonly UiMessage[];
}

export function isUuid(text: unknown): text is string {
  return typeof text === 'string' && uuidShape.test(text);
}

export async function createFlow(
  deps: IdentityDeps,
  request: IdentityRequest,
  options: NewFlowOptions,
): Promise<OpenFlow> {
  const csrfSecret = options.type === 'api' ? null : (csrfSecretOf(deps, request) ?? newCsrfSecret());
  const flow = await insertFlow(deps.db.direct, {
    id: randomUUID(),
    kind: options.kind,
    type: options.type,
    csrfHash: csrfSecret === null ? null : sha256(csrfSecret),
    requestUrl: withoutCode(request.url),
    returnTo: options.returnTo,
    refresh: options.refresh,
    identityId: options.identity?.id ?? null,
    messages: options.messages ?? [],
    lifetimeSeconds: flowLifetimeSeconds,
  });
  return present(deps, flow, csrfSecret, options.identity);
}

/** A code may stand in the address of a registration; what is stored and shown again must not hold it. */
function withoutCode(address: string): string {
  const url = new URL(address);
  url.searchParams.delete('code');
  return url.href.slice(0, maxUrlLength);
}

export function present(
  deps: IdentityDeps,
  flow: Flow,
  csrfSecret: Buffer | null,
  identity?: Identity,
): OpenFlow {
  const csrfToken = csrfSecret === null ? '' : maskCsrf(csrfSecret);
  const view = toFlowView(flow, { baseUrl: deps.baseUrl, csrfToken, ...(identity ? { identity } : {}) });
  return { flow, view, csrfSecret };
}

export function csrfSecretOf(deps: IdentityDeps, request: IdentityRequest): Buffer | null {
  return parseCsrfCookie(readCookies(request.cookie).get(csrfCookieName(deps.baseUrl)));
}

export function safeReturnTo(deps: IdentityDeps, wanted: string | undefined): string | null {
  if (wanted === undefined || wanted === '') return null;
  const target = wanted.length > maxUrlLength ? null : sameOriginTarget(wanted, deps.publicUrl);
  if (target === null) throw new KratosError('self_service_flow_return_to_forbidden');
  return target;
}

export async function loadFlow(deps: IdentityDeps, kind: FlowKind, id: unknown): Promise<Flow> {
  const flow = isUuid(id) ? await findFlow(deps.db.direct, kind, id) : null;
  if (flow === null) throw new KratosError('not_found', { reason: `The ${kind} flow is unknown.` });
  return flow;
}

/** A browser flow belongs to the browser that began it: nobody else may read or submit it. */
export function requireSameBrowser(deps: IdentityDeps, request: IdentityRequest, flow: Flow): Buffer | null {
  if (flow.csrfHash === null) return null;
  const secret = csrfSecretOf(deps, request);
  if (secret === null || !equalInConstantTime(sha256(secret), flow.csrfHash)) {
    throw new KratosError('security_csrf_violation');
  }
  return secret;
}

export interface Submission {
  readonly flow: Flow;
  readonly csrfSecret: Buffer | null;
  readonly session: ActiveSession | null;
}

/** The part every submission shares: a known and open flow, sent by the browser or client that began it. */
export async function admitSubmission(
  deps: IdentityDeps,
  request: IdentityRequest,
  kind: FlowKind,
  id: unknown,
  csrfToken: unknown,
): Promise<Submission> {
  const flow = await loadFlow(deps, kind, id);
  const csrfSecret = requireSameBrowser(deps, request, flow);
  if (csrfSecret === null) refuseBrowserInApiFlow(request);
  else if (!isCsrfTokenOf(csrfSecret, csrfToken)) throw new KratosError('security_csrf_violation');
  if (flow.completedAt !== null || flow.expiresAt <= deps.clock.now()) {
    throw await expiredError(deps, request, flow);
  }
  return { flow, csrfSecret, session: await readSession(deps, request) };
}

/** As Kratos: a browser in an api flow would be without protection against forged requests. */
function refuseBrowserInApiFlow(request: IdentityRequest): void {
  if (request.cookie === null && request.origin === null) return;
  throw new KratosError('bad_request', {
    reason: 'The request was made by a browser, but the flow was initiated as an API flow.',
  });
}

/** Gone, with a fresh flow to go on with. */
export async function expiredError(
  deps: IdentityDeps,
  request: IdentityRequest,
  flow: Flow,
): Promise<KratosError> {
  const { kind, type, returnTo, refresh } = flow;
  const options = { kind, type, returnTo, refresh, messages: [flowExpired(kind)] };
  const session = kind === 'settings' ? await readSession(deps, request) : null;
  const identity = session?.identity;
  if (kind === 'settings' && identity === undefined) return new KratosError('session_inactive');
  const next = await createFlow(deps, request, { ...options, ...(identity ? { identity } : {}) });
  return new KratosError('self_service_flow_expired', {
    extra: { ...expiry(deps, flow), use_flow_id: next.flow.id },
    redirectTo: uiUrl(deps, next.flow),
  });
}

export function expiry(deps: IdentityDeps, flow: Flow): Record<string, unknown> {
  const sinceMs = Math.max(0, deps.clock.millis() - flow.expiresAt.getTime());
  // A Go duration: nanoseconds.
  return { expired_at: flow.expiresAt.toISOString(), since: sinceMs * 1_000_000 };
}

export function uiUrl(deps: IdentityDeps, flow: Pick<Flow, 'kind' | 'id'>): string {
  return `${deps.baseUrl}/ui/${flow.kind}?flow=${flow.id}`;
}

export interface Refusal extends OpenFlow {
  readonly kind: 'refused';
  readonly status: 400 | 429;
  readonly retryAfterSeconds?: number;
}

/** The flow again, with what was wrong. */
export async function refuse(
  deps: IdentityDeps,
  { flow, csrfSecret }: Pick<Submission, 'flow' | 'csrfSecret'>,
  messages: readonly UiMessage[],
  options: { identifier?: string | null; identity?: Identity; retryAfterSeconds?: number } = {},
): Promise<Refusal> {
  const updated = await updateFlowMessages(deps.db.direct, flow.id, messages, options.identifier ?? null);
  const opened = present(deps, updated, csrfSecret, options.identity);
  const { retryAfterSeconds } = options;
  if (retryAfterSeconds === undefined) return { ...opened, kind: 'refused', status: 400 };
  return { ...opened, kind: 'refused', status: 429, retryAfterSeconds };
}
