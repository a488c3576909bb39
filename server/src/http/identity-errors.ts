import type { FastifyInstance, FastifyRequest } from 'fastify';
import { KratosError, kratosErrorBody, plainErrorBody } from '../identity/kratos-error.ts';
import { toAppError } from './error-body.ts';
import { errorPage } from './identity-pages.ts';
import type { IdentityReplies } from './identity-replies.ts';
import { wantsJson } from './identity-request.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A browser may open the route by itself. */
    readonly answersPages?: boolean;
  }
}

export const answersPages = { answersPages: true } as const;

function isForPage(request: FastifyRequest): boolean {
  return request.routeOptions.config.answersPages === true && !wantsJson(request);
}

/** Errors of the provider have its own shape; a browser gets a page, or is sent where it can go on. */
export function answerIdentityErrors(scope: FastifyInstance, replies: IdentityReplies): void {
  scope.setErrorHandler(async (error, request, reply) => {
    const failure = error instanceof KratosError ? error : fromEdge(error);
    if (failure instanceof KratosError) {
      if (!isForPage(request)) return reply.code(failure.code).send(kratosErrorBody(failure));
      if (failure.redirectTo !== undefined) return reply.redirect(failure.redirectTo, 303);
      return replies.page(reply, failure.code, errorPage('This did not work', failure.reason));
    }
    if (failure.status >= 500) {
      request.log.error({ err: failure.cause ?? failure, correlation_id: request.id }, failure.message);
    }
    if (isForPage(request)) {
      return replies.page(reply, failure.status, errorPage('This did not work', failure.message));
    }
    return reply.code(failure.status).send(plainErrorBody(failure.status, failure.message));
  });
  scope.setNotFoundHandler(async (_request, reply) =>
    reply.code(404).send(kratosErrorBody(new KratosError('not_found'))),
  );
}

function fromEdge(error: unknown) {
  const refusal = toAppError(error);
  return refusal.code === 'csrf_rejected' ? new KratosError('security_csrf_violation') : refusal;
}
