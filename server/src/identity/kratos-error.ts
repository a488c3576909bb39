/**
 * The provider's own errors, as Ory Kratos words them: clients match on `id`. The status belongs to the name, never to
 * the thrower. Names without an id are answered without one there too.
 */
const errorTable = {
  session_inactive: {
    code: 401,
    id: 'session_inactive',
    message: 'The request could not be authorized',
    reason: 'No valid session credentials found in the request.',
  },
  session_already_available: {
    code: 400,
    id: 'session_already_available',
    message: 'The request was malformed or contained invalid parameters',
    reason:
      'A valid session was detected and thus login is not possible. Did you forget to set `?refresh=true`?',
  },
  session_refresh_required: {
    code: 403,
    id: 'session_refresh_required',
    message: 'The requested action was forbidden',
    reason:
      'The login session is too old and thus not allowed to update these fields. Please re-authenticate.',
  },
  security_csrf_violation: {
    code: 403,
    id: 'security_csrf_violation',
    message: 'the request was rejected to protect you from Cross-Site-Request-Forgery',
    reason: 'Please retry the flow and optionally clear your cookies. The anti-CSRF token did not match.',
  },
  security_identity_mismatch: {
    code: 403,
    id: 'security_identity_mismatch',
    message: 'The requested action was forbidden',
    reason: 'The flow belongs to another identity. Start a new one.',
  },
  self_service_flow_expired: {
    code: 410,
    id: 'self_service_flow_expired',
    message: 'self-service flow expired',
    reason: 'The self-service flow expired or was used already, initialize a new one.',
  },
  self_service_flow_return_to_forbidden: {
    code: 400,
    id: 'self_service_flow_return_to_forbidden',
    message: 'return_to address is not allowed',
    reason: 'Requested return_to URL is not on this service.',
  },
  bad_request: {
    code: 400,
    id: undefined,
    message: 'The request was malformed or contained invalid parameters',
    reason: 'The request was malformed.',
  },
  forbidden: {
    code: 403,
    id: undefined,
    message: 'The requested action was forbidden',
    reason: 'Forbidden.',
  },
  not_found: {
    code: 404,
    id: undefined,
    message: 'The requested resource could not be found',
    reason: 'Unknown here.',
  },
} as const;

export type KratosErrorName = keyof typeof errorTable;

const statusTexts: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  410: 'Gone',
  413: 'Request Entity Too Large',
  415: 'Unsupported Media Type',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

export interface KratosErrorOptions {
  readonly reason?: string;
  /** Members beside `error`: use_flow_id, redirect_browser_to. */
  readonly extra?: Readonly<Record<string, unknown>>;
  /** Where a browser goes instead of seeing the error. */
  readonly redirectTo?: string;
}

export class KratosError extends Error {
  readonly errorName: KratosErrorName;
  readonly code: number;
  readonly reason: string;
  readonly extra: Readonly<Record<string, unknown>>;
  readonly redirectTo: string | undefined;

  constructor(errorName: KratosErrorName, options: KratosErrorOptions = {}) {
    super(errorTable[errorName].message);
    this.name = 'KratosError';
    this.errorName = errorName;
    this.code = errorTable[errorName].code;
    this.reason = options.reason ?? errorTable[errorName].reason;
    this.extra = options.extra ?? {};
    this.redirectTo = options.redirectTo;
  }
}

export function kratosErrorBody(error: KratosError): Record<string, unknown> {
  const { id } = errorTable[error.errorName];
  return {
    error: { ...(id ? { id } : {}), ...plainError(error.code, error.message), reason: error.reason },
    ...error.extra,
  };
}

/** For refusals of the edge (body limits, an unreachable database) in the provider's shape. */
export function plainErrorBody(code: number, message: string): Record<string, unknown> {
  return { error: plainError(code, message) };
}

function plainError(code: number, message: string) {
  return { code, status: statusTexts[code] ?? 'Error', message };
}
