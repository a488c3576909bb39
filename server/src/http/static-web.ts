import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import staticFiles from '@fastify/static';
import type { FastifyInstance, FastifyReply } from 'fastify';

/** The addresses under which web/src/main.ts shows a page. Everything else stays a plain 404 of the service. */
const pages = ['/', '/sign-in', '/join'];

/** Only files of our own, nothing inline: a name that someone gave a door can never become a script. */
const pagePolicy =
  "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** The built pages: one document for all of them, and each other file as a route of its own. */
export function serveWeb(app: FastifyInstance, dir: string): void {
  const index = join(dir, 'index.html');
  if (!existsSync(index)) {
    app.get('/', async (_request, reply) => reply.redirect('/docs'));
    return;
  }
  const document = readFileSync(index, 'utf8');
  for (const page of pages) {
    app.get(page, async (_request, reply) => asPage(reply).type('text/html; charset=utf-8').send(document));
  }
  app.register(staticFiles, {
    serve: true,
    root: dir,
    wildcard: false,
    decorateReply: false,
    cacheControl: false,
    globIgnore: ['index.html'],
    setHeaders: (reply, path) => {
      asPage(reply);
      // Vite names what it puts there by the hash of the content.
      if (path.startsWith(join(dir, 'assets'))) {
        reply.header('cache-control', 'public, max-age=31536000, immutable');
      }
    },
  });
}

function asPage(reply: FastifyReply): FastifyReply {
  return reply.header('content-security-policy', pagePolicy).header('cache-control', 'no-cache');
}
