import { fastify } from 'fastify';

/** The floor: the same framework, one validated POST, no database. Prints its port. */
const app = fastify();
const schema = {
  body: { type: 'object', additionalProperties: true },
  response: { 200: { type: 'object', properties: { ok: { type: 'boolean' }, id: { type: 'string' } } } },
};
app.post('/open', { schema }, async () => ({ ok: true, id: '01AAAAAAAAAAAAAAAAAAAAAAAA' }));
await app.listen({ port: 0, host: '127.0.0.1' });
const address = app.server.address();
if (typeof address === 'object' && address !== null)
  process.stdout.write(`${JSON.stringify({ port: address.port })}\n`);
