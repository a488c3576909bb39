import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { BuiltinProvider } from '../identity/builtin-provider.ts';
import type { FlowKind } from '../identity/identity-model.ts';
import { KratosError } from '../identity/kratos-error.ts';
import { identitySchema, schemaPath, toKratosSession } from '../identity/kratos-session.ts';
import { requireSameOrigin } from './csrf.ts';
import { answerIdentityErrors, answersPages } from './identity-errors.ts';
import { flowPage, signInPage, spentLinkPage } from './identity-pages.ts';
import { createIdentityReplies, type IdentityReplies } from './identity-replies.ts';
import { identityRequestOf, queryText, sessionTokenOf, wantsJson } from './identity-request.ts';

export const identityPrefix = '/identity';

export interface IdentityRoutesDeps {
  readonly provider: BuiltinProvider;
  readonly publicOrigin: string;
}

interface Binding extends IdentityRoutesDeps {
  readonly replies: IdentityReplies;
}

const kinds: readonly FlowKind[] = ['login', 'registration', 'settings'];
const bodyLimit = 16_384;

/** The public endpoints of the built-in provider, as Ory Kratos has them, below a path of their own. */
export function addIdentityRoutes(app: FastifyInstance, deps: IdentityRoutesDeps): void {
  app.register(
    async (scope) => {
      const binding = { ...deps, replies: createIdentityReplies(deps.provider.baseUrl) };
      readForms(scope);
      answerIdentityErrors(scope, binding.replies);
      for (const kind of kinds) bindFlow(scope, binding, kind);
      bindPages(scope, binding);
      bindSessions(scope, binding);
      bindLogout(scope, binding);
      bindSignInLink(scope, binding);
      scope.get(schemaPath, async () => identitySchema);
    },
    { prefix: identityPrefix },
  );
}

/** Only here: the API itself reads JSON alone. */
function readForms(scope: FastifyInstance): void {
  const type = 'application/x-www-form-urlencoded';
  scope.addContentTypeParser(type, { parseAs: 'string', bodyLimit }, (_request, text, done) => {
    done(null, Object.fromEntries(new URLSearchParams(text.toString())));
  });
}

function bindFlow(scope: FastifyInstance, binding: Binding, kind: FlowKind): void {
  const { provider, publicOrigin, replies } = binding;
  const flowQuery = (request: FastifyRequest) => ({
    returnTo: queryText(request, 'return_to'),
    refresh: queryText(request, 'refresh') === 'true',
  });
  scope.get(`/self-service/${kind}/browser`, { config: answersPages }, async (request, reply) => {
    const incoming = identityRequestOf(request, publicOrigin);
    const opened = await provider.startFlow(incoming, kind, 'browser', flowQuery(request));
    if (wantsJson(request)) return replies.flow(reply, opened);
    const code = queryText(request, 'code');
    const suffix = code === undefined ? '' : `&code=${encodeURIComponent(code)}`;
    return replies.bindBrowser(reply, opened).redirect(`${replies.uiUrl(opened.flow)}${suffix}`, 303);
  });
  scope.get(`/self-service/${kind}/api`, async (request, reply) => {
    const incoming = identityRequestOf(request, publicOrigin);
    return replies.flow(reply, await provider.startFlow(incoming, kind, 'api', flowQuery(request)));
  });
  scope.get(`/self-service/${kind}/flows`, async (request, reply) => {
    const incoming = identityRequestOf(request, publicOrigin);
    return replies.flow(reply, await provider.readFlow(incoming, kind, queryText(request, 'id')));
  });
  const submit = { config: answersPages, bodyLimit };
  scope.post(`/self-service/${kind}`, submit, async (request, reply) => {
    refuseForeignPage(request, publicOrigin);
    const incoming = identityRequestOf(request, publicOrigin);
    const result = await provider.submitFlow(incoming, kind, queryText(request, 'flow'), request.body);
    return replies.submitted(request, reply, result);
  });
}

/**
 * The CSRF token proves the browser, but a sibling host can plant its own cookie there and sign the visitor in as
 * somebody else. Browsers say where a form comes from; native clients say nothing and need no such proof.
 */
function refuseForeignPage(request: FastifyRequest, publicOrigin: string): void {
  const { origin, 'sec-fetch-site': site } = request.headers;
  if (origin !== undefined || site !== undefined) requireSameOrigin(request, publicOrigin);
}

function bindPages(scope: FastifyInstance, { provider, publicOrigin, replies }: Binding): void {
  scope.get<{ Params: { kind: string } }>('/ui/:kind', { config: answersPages }, async (request, reply) => {
    const kind = kinds.find((known) => known === request.params.kind);
    if (kind === undefined) throw new KratosError('not_found');
    const incoming = identityRequestOf(request, publicOrigin);
    const start = `${provider.baseUrl}/self-service/${kind}/browser`;
    try {
      const opened = await provider.readFlow(incoming, kind, queryText(request, 'flow'));
      const text = flowPage(kind, opened.view, queryText(request, 'code') ?? null);
      return replies.page(replies.bindBrowser(reply, opened), 200, text);
    } catch (error) {
      if (error instanceof KratosError && (error.code === 404 || error.code === 410)) {
        return reply.redirect(start, 303);
      }
      throw error;
    }
  });
}

function bindSessions(scope: FastifyInstance, { provider, publicOrigin }: Binding): void {
  /** A cookie alone does not prove that the person meant it. */
  const requireIntent = (request: FastifyRequest) => {
    if (sessionTokenOf(request) === null) requireSameOrigin(request, publicOrigin);
    return identityRequestOf(request, publicOrigin);
  };
  scope.get('/sessions/whoami', async (request, reply) => {
    const session = await provider.whoami(identityRequestOf(request, publicOrigin));
    reply.header('x-kratos-authenticated-identity-id', session.identity.id);
    return toKratosSession(session, provider.baseUrl);
  });
  scope.get('/sessions', async (request) => {
    const others = await provider.listOtherSessions(identityRequestOf(request, publicOrigin));
    return others.map((session) => toKratosSession(session, provider.baseUrl));
  });
  scope.delete('/sessions', async (request) => ({
    count: await provider.endOtherSessions(requireIntent(request)),
  }));
  scope.delete<{ Params: { id: string } }>('/sessions/:id', async (request, reply) => {
    await provider.endMySession(requireIntent(request), request.params.id);
    return reply.code(204).send();
  });
}

function bindLogout(scope: FastifyInstance, { provider, publicOrigin, replies }: Binding): void {
  scope.get('/self-service/logout/browser', async (request) =>
    provider.createLogoutUrl(identityRequestOf(request, publicOrigin), queryText(request, 'return_to')),
  );
  scope.get('/self-service/logout', { config: answersPages }, async (request, reply) => {
    const query = { token: queryText(request, 'token'), returnTo: queryText(request, 'return_to') };
    const target = await provider.logoutBrowser(identityRequestOf(request, publicOrigin), query);
    replies.signedOut(request, reply);
    return wantsJson(request) ? reply.code(204).send() : reply.redirect(target, 303);
  });
  scope.delete('/self-service/logout/api', { bodyLimit }, async (request, reply) => {
    const { session_token: token } = (request.body ?? {}) as { session_token?: unknown };
    await provider.logoutByToken(identityRequestOf(request, publicOrigin), token);
    return reply.code(204).send();
  });
}

function bindSignInLink(scope: FastifyInstance, { provider, publicOrigin, replies }: Binding): void {
  scope.get('/sign-in', { config: answersPages }, async (request, reply) => {
    const code = queryText(request, 'code');
    const isOpen = code !== undefined && (await provider.isSignInCodeOpen(code));
    return isOpen ? replies.page(reply, 200, signInPage(code)) : replies.page(reply, 410, spentLinkPage());
  });
  scope.post('/sign-in', { config: answersPages, bodyLimit }, async (request, reply) => {
    // Without it a foreign page could sign a visitor in as somebody else.
    requireSameOrigin(request, publicOrigin);
    const { code } = (request.body ?? {}) as { code?: unknown };
    const signedIn = await provider.signInWithCode(identityRequestOf(request, publicOrigin), code);
    if (signedIn === null) return replies.page(reply, 410, spentLinkPage());
    return replies.signedIn(reply, signedIn).redirect('/', 303);
  });
}
