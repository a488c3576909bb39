import type { FastifyRequest } from 'fastify';
import type { IdentityRequest } from '../identity/identity-model.ts';

/** What the provider reads from a request. */
export function identityRequestOf(request: FastifyRequest, publicOrigin: string): IdentityRequest {
  return {
    correlationId: request.id,
    ip: request.ip,
    userAgent: request.headers['user-agent'] ?? null,
    url: `${publicOrigin}${request.url}`,
    cookie: request.headers.cookie ?? null,
    sessionToken: sessionTokenOf(request),
    origin: request.headers.origin ?? null,
  };
}

export function sessionTokenOf({ headers }: FastifyRequest): string | null {
  const header = headers['x-session-token'];
  const bearer = /^bearer +(\S+)$/i.exec(headers.authorization?.trim() ?? '')?.[1];
  return (Array.isArray(header) ? header[0] : header) ?? bearer ?? null;
}

/** Kratos answers JSON to who asks for it or sends it, and redirects everybody else. */
export function wantsJson({ headers }: FastifyRequest): boolean {
  return [headers.accept, headers['content-type']].some((value) => value?.includes('application/json'));
}

/** A single text of the query string; repeated parameters count as absent. */
export function queryText(request: FastifyRequest, name: string): string | undefined {
  const value = (request.query as Record<string, unknown>)[name];
  return typeof value === 'string' ? value : undefined;
}
