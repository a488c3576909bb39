import { ApiError } from '@lintel/contract/common';
import { type ErrorCode, errorTable } from '@lintel/contract/errors';
import { errorsOf, type OperationSpec } from '@lintel/contract/operation';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formatsPlugin from 'ajv-formats';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';

/** What the edge may answer on any operation before its handler is asked. */
const transportCodes: readonly ErrorCode[] = [
  'csrf_rejected',
  'headers_too_large',
  'internal_error',
  'malformed_json',
  'payload_too_large',
  'request_timeout',
  'unavailable',
  'unsupported_media_type',
];

export interface ResponseCheck {
  readonly violations: string[];
  /** To be called before the routes are bound. */
  watch(http: FastifyInstance): void;
  /** Throws what was found since the last call. */
  assertClean(): void;
}

/** Holds every answer of an app against the contract: what is not declared there must not leave the service. */
export function createResponseCheck(): ResponseCheck {
  const violations: string[] = [];
  return {
    violations,
    watch: (http) => watchResponses(http, violations),
    assertClean() {
      const found = violations.splice(0);
      if (found.length > 0) throw new Error(`the contract is broken:\n  ${[...new Set(found)].join('\n  ')}`);
    },
  };
}

function watchResponses(http: FastifyInstance, violations: string[]): void {
  const report = (request: FastifyRequest, problem: string | null) => {
    if (problem !== null) violations.push(`${request.method} ${request.url.slice(0, 120)}: ${problem}`);
  };
  // Serialization drops undeclared members silently, so the handler's own result is looked at as well as the wire.
  http.addHook('preSerialization', async (request, reply, payload) => {
    report(request, problemOf(request, reply.statusCode, JSON.stringify(payload)));
    return payload;
  });
  http.addHook('onSend', async (request, reply, payload) => {
    report(request, correlationProblem(request, reply.getHeader('x-request-id')));
    const isText = typeof payload === 'string' || payload === null || payload === undefined;
    if (request.method !== 'HEAD' && isText)
      report(request, problemOf(request, reply.statusCode, payload ?? ''));
    return payload;
  });
}

function correlationProblem(request: FastifyRequest, header: unknown): string | null {
  return header === request.id ? null : `X-Request-Id is ${String(header)}, not ${request.id}`;
}

/** The operation a request was routed to; undefined outside the contract. */
export function operationOf(request: FastifyRequest): OperationSpec | undefined {
  return (request.routeOptions.config as { operation?: OperationSpec } | undefined)?.operation;
}

function problemOf(request: FastifyRequest, status: number, text: string): string | null {
  const operation = operationOf(request);
  if (operation !== undefined && status in operation.responses) {
    return successProblem(operation.responses[status] ?? null, status, text);
  }
  if (operation !== undefined && status < 400) return `undeclared status ${status}`;
  const isOurs = operation !== undefined || request.url.startsWith('/api/');
  return isOurs && status >= 400 ? errorProblem(operation, status, text, request.id) : null;
}

function successProblem(schema: TSchema | null, status: number, text: string): string | null {
  if (schema === null) return text === '' ? null : `${status} has a body`;
  const problem = mismatch(schema, text);
  return problem === null ? null : `${status} body ${problem}`;
}

function errorProblem(
  operation: OperationSpec | undefined,
  status: number,
  text: string,
  correlationId: string,
): string | null {
  const problem = mismatch(ApiError, text);
  if (problem !== null) return `${status} error body ${problem}`;
  const body = JSON.parse(text) as ApiError;
  const { code } = body;
  if (!isErrorCode(code)) return `unknown error code ${code}`;
  if (errorTable[code].status !== status) return `code ${code} sent with status ${status}`;
  if (body.error_code !== code) return `error_code ${body.error_code} differs from code ${code}`;
  if (body.correlationId !== correlationId)
    return `correlationId ${body.correlationId} is not ${correlationId}`;
  if (operation === undefined || transportCodes.includes(code)) return null;
  return errorsOf(operation).includes(code) ? null : `undeclared error code ${code} (${operation.id})`;
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorTable, code);
}

const ajv = formatsPlugin.default(new Ajv2020({ strict: false, validateFormats: true }));
const compiled = new WeakMap<TSchema, ValidateFunction>();

function mismatch(schema: TSchema, text: string): string | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return `is not JSON: ${JSON.stringify(text.slice(0, 80))}`;
  }
  const validate = compiled.get(schema) ?? ajv.compile(schema);
  compiled.set(schema, validate);
  if (validate(value)) return null;
  const [error] = validate.errors ?? [];
  return `${error?.instancePath || '/'} ${error?.message} ${JSON.stringify(error?.params)}`;
}
