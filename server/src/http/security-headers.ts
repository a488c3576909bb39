import type { FastifyInstance, FastifyReply } from 'fastify';

/** For answers of the API: nothing may be loaded, framed or kept. Pages set their own content policy. */
const apiHeaders: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
};

export function addSecurityHeaders(app: FastifyInstance, options: { https: boolean }): void {
  app.addHook('onSend', async (_request, reply) => setSecurityHeaders(reply, options));
}

export function setSecurityHeaders(reply: FastifyReply, { https }: { https: boolean }): void {
  for (const [name, value] of Object.entries(apiHeaders)) {
    if (!reply.hasHeader(name)) reply.header(name, value);
  }
  if (https) reply.header('strict-transport-security', 'max-age=31536000');
}
