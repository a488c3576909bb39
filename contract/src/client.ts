import type { ApiError } from './common.ts';
import type { UploadSpec } from './operation.ts';
import {
  type Body,
  type OperationId,
  operationById,
  type Params,
  type Query,
  type Result,
} from './operations.ts';

type IfPresent<Key extends string, Value> = [Value] extends [undefined]
  ? { [K in Key]?: undefined }
  : keyof Value extends never
    ? { [K in Key]?: Value }
    : Record<never, never> extends Value
      ? { [K in Key]?: Value }
      : { [K in Key]: Value };

export type CallInput<Id extends OperationId> = IfPresent<'params', Params<Id>> &
  IfPresent<'query', Query<Id>> &
  (unknown extends Body<Id> ? { body: unknown } : IfPresent<'body', Body<Id>>) & {
    headers?: Record<string, string>;
    signal?: AbortSignal;
  };

export interface ClientOptions {
  /** The API base, for example http://localhost:8080/api/v1 */
  readonly baseUrl: string;
  readonly token?: string;
  readonly orgId?: string;
  readonly fetch?: typeof fetch;
  /** Reads the JSON of an answer; for callers to whom integers beyond 2^53 matter. */
  readonly parse?: (text: string) => unknown;
}

export class ApiCallError extends Error {
  readonly status: number;
  readonly code: string;
  readonly correlationId: string;
  readonly body: Partial<ApiError>;
  /** What Retry-After says; null without it. */
  readonly retryAfterSeconds: number | null;

  constructor(status: number, body: Partial<ApiError>, retryAfterSeconds: number | null = null) {
    super(body.message ?? `HTTP ${status}`);
    this.name = 'ApiCallError';
    this.status = status;
    this.code = body.code ?? 'unknown';
    this.correlationId = body.correlationId ?? '';
    this.body = body;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export type ApiClient = <Id extends OperationId>(id: Id, input: CallInput<Id>) => Promise<Result<Id>>;

/** A typed caller of the contract. It never retries: a repeated POST could open a door twice. */
export function createClient(options: ClientOptions): ApiClient {
  const send = options.fetch ?? fetch;
  return async (id, input) => {
    const operation = operationById(id);
    const url = buildUrl(options.baseUrl, operation.path, input.params ?? {}, input.query ?? {});
    const { upload } = operation;
    const body = upload === undefined ? jsonBody(input.body) : uploadBody(upload, input.body);
    const response = await send(url, {
      method: operation.method,
      headers: requestHeaders(options, input.headers, typeof body === 'string'),
      ...(body === undefined ? {} : { body }),
      ...(input.signal ? { signal: input.signal } : {}),
    });
    const text = await response.text();
    const parsed = parseBody(text, options.parse ?? JSON.parse);
    if (!response.ok) throw callError(response, isRecord(parsed) ? parsed : { message: text });
    return parsed as never;
  };
}

function jsonBody(body: unknown): string | undefined {
  return body === undefined ? undefined : JSON.stringify(body);
}

function uploadBody({ mediaTypes }: UploadSpec, body: unknown): FormData {
  if (!(body instanceof Uint8Array)) throw new TypeError('the body of an upload is its bytes');
  const form = new FormData();
  // Which of the types it is, the service sees from the bytes.
  form.append('file', new Blob([new Uint8Array(body)], { type: mediaTypes[0] ?? '' }), 'file');
  return form;
}

function callError(response: Response, body: Partial<ApiError>): ApiCallError {
  const seconds = Number.parseInt(response.headers.get('retry-after') ?? '', 10);
  return new ApiCallError(response.status, body, Number.isNaN(seconds) ? null : seconds);
}

function buildUrl(base: string, path: string, params: object, query: object): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value: unknown = Reflect.get(params, name);
    if (typeof value !== 'string' || value === '') throw new TypeError(`path parameter ${name} is missing`);
    return encodeURIComponent(value);
  });
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) search.append(key, String(value));
  }
  const suffix = search.size > 0 ? `?${search}` : '';
  return `${base}${filled}${suffix}`;
}

function requestHeaders(options: ClientOptions, extra: Record<string, string> = {}, hasBody: boolean) {
  return {
    accept: 'application/json',
    ...(hasBody ? { 'content-type': 'application/json' } : {}),
    ...(options.token ? { authorization: `Bearer ${options.token}` } : {}),
    ...(options.orgId ? { 'x-org': options.orgId } : {}),
    ...extra,
  };
}

function parseBody(text: string, parse: (text: string) => unknown): unknown {
  if (text === '') return undefined;
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, string> {
  return typeof value === 'object' && value !== null;
}
