import type { ApiError } from '@lintel/contract/common';
import type { FastifyError } from 'fastify';
import { AppError } from '../kernel/app-error.ts';

/** Translates what the framework throws before a handler runs. Anything unknown is our own fault: 500, and logged. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const code =
    typeof error === 'object' && error !== null && 'code' in error ? (error as FastifyError).code : '';
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new AppError('payload_too_large', 'the body is too large', { cause: error });
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_EMPTY_TYPE':
      return new AppError('unsupported_media_type', 'send application/json', { cause: error });
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new AppError('validation_error', 'the request is malformed', { cause: error });
    case 'FST_ERR_BAD_URL':
      return new AppError('validation_error', 'the address is malformed', { cause: error });
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new AppError('not_found', 'not found', { cause: error });
    default:
      return new AppError('internal_error', 'something went wrong here', { cause: error });
  }
}

export function errorBody(error: AppError, correlationId: string): ApiError {
  const place = error.details?.find(({ line }) => line !== undefined);
  return {
    message: error.message,
    code: error.code,
    error_code: error.code,
    correlationId,
    ...(error.details ? { details: [...error.details] } : {}),
    ...(error.previewToken ? { preview_token: error.previewToken } : {}),
    ...(place ? { line: place.line, column: place.column } : {}),
    ...(error.output ? { output: [...error.output] } : {}),
  };
}
