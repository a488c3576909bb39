import { ApiError } from './common.ts';
import { type ErrorCode, errorTable, statusOf } from './errors.ts';
import type { SchemaRegistry } from './openapi-schemas.ts';
import type { OpenApiHeader, OpenApiResponse, Reference } from './openapi-types.ts';
import { errorsOf, type OperationSpec } from './operation.ts';

export const responseHeaders: Readonly<Record<string, OpenApiHeader>> = {
  RequestId: {
    description: 'The correlation id: the caller’s X-Correlation-Id, or a new ULID.',
    schema: { type: 'string' },
  },
  RetryAfter: {
    description: 'Seconds to wait before the next attempt.',
    schema: { type: 'integer', minimum: 0 },
  },
};

const requestIdHeader = { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } };
const retryHeader = { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } };

/** Answered before a request reaches its operation, or when the service itself fails; so no operation lists them. */
const transportErrors = [
  'csrf_rejected',
  'headers_too_large',
  'internal_error',
  'malformed_json',
  'payload_too_large',
  'request_timeout',
  'unsupported_media_type',
] as const satisfies readonly ErrorCode[];

const successTexts: Readonly<Record<number, string>> = {
  200: 'Done.',
  201: 'Created.',
  202: 'Accepted; the work goes on.',
  204: 'Done; no body.',
};

const responsePrefix = '#/components/responses/';
const transportError = 'transport_error';

type Responses = Record<string, OpenApiResponse | Reference>;

export function responsesOf(operation: OperationSpec, schemas: SchemaRegistry): Responses {
  const errors = Object.entries(errorGroups(operation)).map(([status, codes]) => [
    status,
    codes.length === 1 ? { $ref: `${responsePrefix}${codes[0]}` } : errorResponse(codes, schemas),
  ]);
  return {
    ...successResponses(operation, schemas),
    ...Object.fromEntries(errors),
    default: { $ref: `${responsePrefix}${transportError}` },
  };
}

/** A status that one code alone is answered with reads the same in every operation, so it stands here once. */
export function sharedResponses(
  operations: readonly OperationSpec[],
  schemas: SchemaRegistry,
): Record<string, OpenApiResponse> {
  const groups = operations.flatMap((operation) => Object.values(errorGroups(operation)));
  const alone = new Set(groups.flatMap((codes) => (codes.length === 1 ? codes : [])));
  return {
    ...Object.fromEntries([...alone].sort().map((code) => [code, errorResponse([code], schemas)])),
    [transportError]: transportErrorResponse(schemas),
  };
}

function errorGroups(operation: OperationSpec): Record<string, ErrorCode[]> {
  return Object.fromEntries(Map.groupBy(errorsOf(operation), statusOf));
}

function successResponses(operation: OperationSpec, schemas: SchemaRegistry): Responses {
  return Object.fromEntries(
    Object.entries(operation.responses).map(([status, schema]) => [
      status,
      {
        description: successTexts[Number(status)] ?? `Answered with ${status}.`,
        headers: requestIdHeader,
        ...(schema === null ? {} : { content: { 'application/json': { schema: schemas.use(schema) } } }),
      },
    ]),
  );
}

function transportErrorResponse(schemas: SchemaRegistry): OpenApiResponse {
  const { description, ...response } = errorResponse(transportErrors, schemas);
  return { description: `What any request can be answered with.\n\n${description}`, ...response };
}

function errorResponse(codes: readonly ErrorCode[], schemas: SchemaRegistry): OpenApiResponse {
  const saysWhenToRetry = codes.some((code) => statusOf(code) === 429);
  return {
    description: codes.map((code) => `- \`${code}\`: ${errorTable[code].meaning}`).join('\n'),
    headers: saysWhenToRetry ? { ...requestIdHeader, ...retryHeader } : requestIdHeader,
    content: { 'application/json': { schema: schemas.use(ApiError) } },
    'x-error-codes': codes,
  };
}
