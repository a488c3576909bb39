import type { FastifyInstance } from 'fastify';
import { notFound } from '../kernel/app-error.ts';

export type ReadMedia = (key: string, expires: unknown, signature: unknown) => Promise<Uint8Array | null>;

interface MediaRequest {
  Params: { '*': string };
  Querystring: { expires?: unknown; signature?: unknown };
}

/**
 * Signed addresses need no credential, so whatever is wrong with one is the same 404. What is served is always an image
 * of our own making: even opened by itself it can run nothing.
 */
export function addMediaRoute(app: FastifyInstance, read: ReadMedia, contentType: string): void {
  app.get<MediaRequest>('/media/*', async (request, reply) => {
    const bytes = await read(request.params['*'], request.query.expires, request.query.signature);
    if (bytes === null) throw notFound();
    return (
      reply
        .type(contentType)
        .header('content-disposition', 'inline; filename="image.webp"')
        .header('content-security-policy', "default-src 'none'; frame-ancestors 'none'; sandbox")
        // The address is the permission: pages of other origins may show what they were given.
        .header('cross-origin-resource-policy', 'cross-origin')
        .header('cache-control', 'private, no-store')
        .send(bytes)
    );
  });
}
