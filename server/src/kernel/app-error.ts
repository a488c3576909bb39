import { type ErrorCode, statusOf } from '@lintel/contract/errors';

export interface FieldProblem {
  readonly path: string;
  readonly message: string;
}

/** Of which quota there is how much left. */
export interface QuotaStanding {
  readonly key: string;
  readonly period: string;
  readonly current: number;
  readonly limit: number;
}

/** A place in the text of a script, from 1. */
export interface ScriptPlace {
  readonly line: number;
  readonly column: number;
}

export type ErrorDetail = FieldProblem & Partial<QuotaStanding> & Partial<ScriptPlace>;

export interface AppErrorOptions {
  readonly details?: readonly ErrorDetail[];
  /** What a script printed before it failed. */
  readonly output?: readonly string[];
  readonly cause?: unknown;
  readonly retryAfterSeconds?: number;
  readonly previewToken?: string;
  /** The thrower wrote the audit event of this refusal itself, so that the edge does not write a second one. */
  readonly audited?: boolean;
}

/** What a caller is told. The status comes from the code table, never from the thrower. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly details: readonly ErrorDetail[] | undefined;
  readonly output: readonly string[] | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly previewToken: string | undefined;
  readonly audited: boolean;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.details = options.details;
    this.output = options.output;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.previewToken = options.previewToken;
    this.audited = options.audited ?? false;
  }

  get status(): number {
    return statusOf(this.code);
  }
}

/** One wording for absent, deleted and foreign records, so that the answer tells nothing about other organizations. */
export function notFound(): AppError {
  return new AppError('not_found', 'not found');
}

export function invalid(path: string, message: string): AppError {
  return new AppError('validation_error', `${path}: ${message}`, { details: [{ path, message }] });
}

export function quotaExceeded(standing: QuotaStanding, cause?: unknown): AppError {
  const { key, period, current, limit } = standing;
  const message = `${current} of ${limit} ${period === 'lifetime' ? 'in use' : `used this ${period}`}`;
  return new AppError('quota_exceeded', `the quota ${key} is used up: ${message}`, {
    details: [{ path: `/quotas/${key}`, message, key, period, current, limit }],
    cause,
  });
}
