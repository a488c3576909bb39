import { existsSync } from 'node:fs';
import { join } from 'node:path';
import staticFiles from '@fastify/static';
import type { FastifyInstance } from 'fastify';

/** Only files of our own, nothing inline: a name that someone gave a door can never become a script. */
const pagePolicy =
  "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/**
 * The built pages. Each file is a route of its own, so that everything else stays a plain 404 of the service.
 * Where the pages were not built, the front page leads to the reference.
 */
export function serveWeb(app: FastifyInstance, dir: string): void {
  if (!existsSync(join(dir, 'index.html'))) {
    app.get('/', async (_request, reply) => reply.redirect('/docs'));
    return;
  }
  app.register(staticFiles, {
    serve: true,
    root: dir,
    wildcard: false,
    decorateReply: false,
    cacheControl: false,
    setHeaders: (reply, path) => {
      reply.header('content-security-policy', pagePolicy);
      // Vite names what it puts there by the hash of the content.
      const isHashed = path.startsWith(join(dir, 'assets'));
      reply.header('cache-control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache');
    },
  });
}
