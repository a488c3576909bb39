import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { referencePageStyleHash } from '@lintel/contract/reference-page';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '../kernel/logger.ts';
import { addReferenceRoutes } from './reference-routes.ts';
import { createHttpServer } from './server.ts';
import { serveWeb } from './static-web.ts';

let app: FastifyInstance;
let dir: string;

beforeEach(() => {
  app = createHttpServer({
    logger: createLogger({ level: 'silent' }),
    https: false,
    trustProxy: false,
    bodyLimitBytes: 1024,
  });
  dir = mkdtempSync(join(tmpdir(), 'lintel-web-'));
});
afterEach(async () => {
  await app.close();
  rmSync(dir, { recursive: true, force: true });
});

describe('the web pages', () => {
  beforeEach(() => {
    mkdirSync(join(dir, 'assets'));
    writeFileSync(join(dir, 'index.html'), '<title>Doors</title>');
    writeFileSync(join(dir, 'assets', 'main-1a2b3c.js'), 'export {};');
    writeFileSync(join(dir, 'favicon.svg'), '<svg/>');
    writeFileSync(join(dir, '.lintel-built'), 'stamp');
    serveWeb(app, dir);
  });

  it.each(['/', '/sign-in', '/join?token=x'])(
    '%s is the page, under a policy without inline code',
    async (url) => {
      const { statusCode, headers, body } = await app.inject(url);
      expect([statusCode, body]).toEqual([200, '<title>Doors</title>']);
      expect(headers['content-type']).toBe('text/html; charset=utf-8');
      expect(headers['content-security-policy']).toMatch(/^default-src 'self';.*frame-ancestors 'none'/);
      expect(headers['content-security-policy']).not.toContain('unsafe');
      expect(headers['cache-control']).toBe('no-cache');
      expect(headers['x-content-type-options']).toBe('nosniff');
    },
  );

  it('hashed files may be kept for ever, others are asked for again', async () => {
    const script = await app.inject('/assets/main-1a2b3c.js');
    expect(script.statusCode).toBe(200);
    expect(script.headers['content-type']).toContain('javascript');
    expect(script.headers['cache-control']).toContain('immutable');
    const icon = await app.inject('/favicon.svg');
    expect(icon.headers['cache-control']).toBe('no-cache');
    expect(icon.headers['content-security-policy']).toContain("default-src 'self'");
  });

  it.each([
    '/.lintel-built',
    '/assets/',
    '/assets/..%2f..%2f..%2fetc%2fpasswd',
    '/nothing',
    '/api/v1/nothing',
  ])('%s is not there', async (url) => {
    const { statusCode, headers } = await app.inject(url);
    expect(statusCode).toBe(404);
    expect(headers['content-type']).toContain('application/json');
  });
});

it('without built pages the front page leads to the reference', async () => {
  serveWeb(app, dir);
  const { statusCode, headers } = await app.inject('/');
  expect([statusCode, headers.location]).toEqual([302, '/docs']);
});

describe('the reference', () => {
  beforeEach(() =>
    addReferenceRoutes(app, { publicUrl: 'https://doors.test', version: '9.8.7', brand: 'acme' }),
  );

  it('for tools names this server, version and brand', async () => {
    const { headers, body } = await app.inject('/api/v1/openapi.json');
    const document = JSON.parse(body);
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(document.servers[0].url).toBe('https://doors.test/api/v1');
    expect(document.info.version).toBe('9.8.7');
    expect(body).toContain('X-Acme-Confirm');
  });

  it('for people allows its own style and nothing else', async () => {
    const { headers, body } = await app.inject('/docs');
    expect(body).toContain('https://doors.test/api/v1');
    expect(headers['content-security-policy']).toBe(
      `default-src 'none'; style-src '${await referencePageStyleHash()}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
  });
});
