import type { FastifyRequest } from 'fastify';
import { AppError } from '../kernel/app-error.ts';

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * A cookie is sent by the browser whoever wrote the page, so an unsafe request must prove where it comes from.
 * Sec-Fetch-Site can not be forged by a page; Origin is the fallback for browsers without it.
 */
export function requireSameOrigin(request: FastifyRequest, publicOrigin: string): void {
  if (safeMethods.has(request.method)) return;
  const site = request.headers['sec-fetch-site'];
  const sameOrigin = site === undefined ? request.headers.origin === publicOrigin : site === 'same-origin';
  if (!sameOrigin)
    throw new AppError('csrf_rejected', 'this request did not come from the service’s own pages');
}
