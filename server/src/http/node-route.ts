import type { FastifyInstance } from 'fastify';
import { dispatchPath, type HttpBus } from '../cluster/http-bus.ts';
import { AppError } from '../kernel/app-error.ts';

/** The input of an op may be as large as a request, and is locked, which makes it a third larger. */
const MAX_REQUEST_BYTES = 2_097_152;

/** Where other nodes of this installation bring commands. Whoever can not sign as one is refused. */
export function addNodeRoute(http: FastifyInstance, receive: HttpBus['receive']): void {
  void http.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    // The signature is over these bytes, so they are not parsed before it was looked at.
    scope.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) =>
      done(null, body),
    );
    scope.post(dispatchPath, { bodyLimit: MAX_REQUEST_BYTES }, async (request, reply) => {
      const header = (name: string) => String(request.headers[name] ?? '');
      const seal = {
        time: header('x-node-time'),
        nonce: header('x-node-nonce'),
        signature: header('x-node-signature'),
      };
      const body = typeof request.body === 'string' ? request.body : '';
      const answer = await receive({ body, seal });
      if (answer === null) throw new AppError('unauthorized', 'only for nodes of this installation');
      return reply.header('x-node-signature', answer.signature).type('application/json').send(answer.body);
    });
  });
}
