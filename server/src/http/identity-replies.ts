import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SubmitResult } from '../identity/builtin-provider.ts';
import { clearingCookieLines, sessionCookieName, setCookieLine } from '../identity/cookies.ts';
import { csrfCookieName } from '../identity/csrf.rules.ts';
import type { OpenFlow, Refusal } from '../identity/flow.service.ts';
import type { Flow } from '../identity/identity-model.ts';
import { type SignedIn, sessionLifetimeSeconds } from '../identity/issue-session.ts';
import { toKratosIdentity, toKratosSession } from '../identity/kratos-session.ts';
import type { FlowSuccess } from '../identity/login.service.ts';
import { flowPage, pageHeaders } from './identity-pages.ts';
import { wantsJson } from './identity-request.ts';

const csrfCookieSeconds = 365 * 86_400;

/** Answers in the way of Kratos: JSON for programs, cookies and redirects for browsers. */
export interface IdentityReplies {
  flow(reply: FastifyReply, opened: OpenFlow, status?: number): FastifyReply;
  submitted(request: FastifyRequest, reply: FastifyReply, result: SubmitResult): FastifyReply;
  signedIn(reply: FastifyReply, signedIn: SignedIn): FastifyReply;
  signedOut(request: FastifyRequest, reply: FastifyReply): FastifyReply;
  page(reply: FastifyReply, status: number, text: string): FastifyReply;
  /** Sets the cookie that binds the flow to the browser. */
  bindBrowser(reply: FastifyReply, opened: Pick<OpenFlow, 'csrfSecret'>): FastifyReply;
  uiUrl(flow: Pick<Flow, 'kind' | 'id'>): string;
}

export function createIdentityReplies(baseUrl: string): IdentityReplies {
  const https = baseUrl.startsWith('https:');
  const csrfName = csrfCookieName(baseUrl);
  const replies: IdentityReplies = {
    bindBrowser(reply, { csrfSecret }) {
      if (csrfSecret === null) return reply;
      const value = csrfSecret.toString('base64url');
      const line = setCookieLine(csrfName, value, { https, maxAgeSeconds: csrfCookieSeconds });
      return reply.header('set-cookie', line);
    },
    flow: (reply, opened, status = 200) => replies.bindBrowser(reply, opened).code(status).send(opened.view),
    signedIn: (reply, { credential }) =>
      reply.header(
        'set-cookie',
        setCookieLine(sessionCookieName, credential, { https, maxAgeSeconds: sessionLifetimeSeconds }),
      ),
    signedOut: (request, reply) =>
      reply.header('set-cookie', clearingCookieLines(request.headers.cookie ?? null, https)),
    page: (reply, status, text) => reply.code(status).headers(pageHeaders).send(text),
    uiUrl: ({ kind, id }) => `${baseUrl}/ui/${kind}?flow=${id}`,
    submitted(request, reply, result) {
      const asJson = result.flow.type === 'api' || wantsJson(request);
      if (result.kind === 'signed_in') return sendSuccess(replies, reply, result, asJson, baseUrl);
      if (result.kind === 'refused') return sendRefusal(replies, reply, result, asJson);
      if (asJson) return replies.flow(reply, result);
      return reply.redirect(result.flow.returnTo ?? replies.uiUrl(result.flow), 303);
    },
  };
  return replies;
}

function sendSuccess(
  replies: IdentityReplies,
  reply: FastifyReply,
  success: FlowSuccess,
  asJson: boolean,
  baseUrl: string,
): FastifyReply {
  const { flow, session, credential } = success;
  const isBrowser = flow.type === 'browser';
  if (isBrowser) replies.signedIn(reply, success);
  if (!asJson) return reply.redirect(flow.returnTo ?? '/', 303);
  return reply.send({
    session: toKratosSession(session, baseUrl),
    ...(isBrowser ? {} : { session_token: credential }),
    ...(flow.kind === 'registration' ? { identity: toKratosIdentity(session.identity, baseUrl) } : {}),
    continue_with: [],
  });
}

function sendRefusal(
  replies: IdentityReplies,
  reply: FastifyReply,
  refusal: Refusal,
  asJson: boolean,
): FastifyReply {
  const { flow, view, status, retryAfterSeconds } = refusal;
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds));
  if (asJson) return replies.flow(reply, refusal, status);
  // A redirect would lose the status that tells programs to slow down.
  if (status === 429) return replies.page(reply, status, flowPage(flow.kind, view, null));
  return reply.redirect(replies.uiUrl(flow), 303);
}
