import { buildOpenApi } from '@lintel/contract/openapi';
import { allOperations, apiBasePath } from '@lintel/contract/operations';
import { referencePageStyleHash, renderReferencePage } from '@lintel/contract/reference-page';
import type { FastifyInstance } from 'fastify';

export interface ReferenceOptions {
  readonly publicUrl: string;
  readonly version: string;
  readonly brand: string;
}

/** The contract for tools and for people. Both are rendered on the first request: most nodes never get one. */
export function addReferenceRoutes(app: FastifyInstance, options: ReferenceOptions): void {
  const describe = () =>
    buildOpenApi({
      operations: allOperations,
      serverUrl: `${options.publicUrl}${apiBasePath}`,
      version: options.version,
      brand: options.brand,
    });
  let document: string | null = null;
  let page: Promise<{ html: string; policy: string }> | null = null;

  app.get(`${apiBasePath}/openapi.json`, async (_request, reply) => {
    document ??= JSON.stringify(describe());
    return reply.type('application/json; charset=utf-8').header('cache-control', 'no-cache').send(document);
  });
  app.get('/docs', async (_request, reply) => {
    page ??= renderPage(describe());
    const { html, policy } = await page;
    reply.header('content-security-policy', policy).header('cache-control', 'no-cache');
    return reply.type('text/html; charset=utf-8').send(html);
  });
}

async function renderPage(document: ReturnType<typeof buildOpenApi>) {
  const style = await referencePageStyleHash();
  const policy = `default-src 'none'; style-src '${style}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
  return { html: renderReferencePage(document), policy };
}
