import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  fastify,
  LogController,
} from 'fastify';
import { AppError } from '../kernel/app-error.ts';
import type { Logger } from '../kernel/logger.ts';
import { ulid } from '../kernel/ulid.ts';
import { isDialIn } from './dial-in-route.ts';
import { errorBody, toAppError } from './error-body.ts';
import { readJsonBodies } from './json-body.ts';
import { addSecurityHeaders, setSecurityHeaders } from './security-headers.ts';

export interface HttpServerOptions {
  readonly logger: Logger;
  readonly https: boolean;
  readonly trustProxy: boolean;
  readonly bodyLimitBytes: number;
}

const correlationPattern = /^[\x21-\x7e](?:[\x20-\x7e]{0,126}[\x21-\x7e])?$/;

/** The bare server: correlation, limits, errors and headers. Routes are added by others. */
export function createHttpServer(options: HttpServerOptions): FastifyInstance {
  const loggerInstance: FastifyBaseLogger = options.logger;
  const app: FastifyInstance = fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: options.trustProxy,
    bodyLimit: options.bodyLimitBytes,
    requestTimeout: 30_000,
    connectionTimeout: 60_000,
    keepAliveTimeout: 72_000,
    routerOptions: { maxParamLength: 256, ignoreTrailingSlash: false },
    genReqId: (request) => correlationIdOf(request.headers['x-correlation-id']),
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, { id }, reply) =>
      answerBadAddress(error, id, reply as unknown as FastifyReply, options),
    http: { maxHeaderSize: 16_384, headersTimeout: 15_000, shouldUpgradeCallback: isDialIn },
  });
  readJsonBodies(app);
  addSecurityHeaders(app, options);
  addCorrelation(app);
  answerErrors(app);
  return app;
}

function correlationIdOf(header: string | string[] | undefined): string {
  return typeof header === 'string' && correlationPattern.test(header) ? header : ulid();
}

function addCorrelation(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
    // %00 decodes to a character no text column can hold; no path or filter of ours contains it.
    if (request.url.includes('%00'))
      throw new AppError('validation_error', 'the address contains a NUL character');
  });
  app.addHook('onResponse', async (request, reply) => {
    const line = { method: request.method, route: request.routeOptions.url, status: reply.statusCode };
    request.log.info({ ...line, correlation_id: request.id, ms: Math.round(reply.elapsedTime) }, 'request');
  });
}

function answerErrors(app: FastifyInstance): void {
  app.setErrorHandler(async (error, request, reply) => {
    const refusal = toAppError(error);
    if (refusal.status >= 500)
      request.log.error({ err: refusal.cause ?? refusal, correlation_id: request.id }, refusal.message);
    if (refusal.retryAfterSeconds !== undefined)
      reply.header('retry-after', String(refusal.retryAfterSeconds));
    return reply.code(refusal.status).send(errorBody(refusal, request.id));
  });
  app.setNotFoundHandler(async (request, reply) =>
    reply.code(404).send(errorBody(new AppError('not_found', 'not found'), request.id)),
  );
}

/** An address the router can not read is refused before there is a route, and so before every hook. */
function answerBadAddress(error: Error, id: string, reply: FastifyReply, options: HttpServerOptions): void {
  const refusal = toAppError(error);
  setSecurityHeaders(reply, options);
  reply.header('x-request-id', id).code(refusal.status).send(errorBody(refusal, id));
}

interface ClientSocket {
  readonly writable: boolean;
  end(text: string): unknown;
}

/** What Node refuses before there is a request: too large headers, a too slow client, broken framing. */
function answerClientError(error: Error & { code?: string }, socket: ClientSocket): void {
  if (!socket.writable) return;
  const refusal = clientRefusal(error.code);
  const body = JSON.stringify(errorBody(refusal, ulid()));
  socket.end(
    `HTTP/1.1 ${refusal.status} ${refusal.code}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

function clientRefusal(code: string | undefined): AppError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new AppError('headers_too_large', 'the request headers are too large');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new AppError('request_timeout', 'the request did not arrive in time');
  return new AppError('validation_error', 'the request is malformed');
}
