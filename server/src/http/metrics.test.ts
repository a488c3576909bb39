import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../test/support/test-app.ts';
import { Secret } from '../kernel/secret.ts';
import { createMetricsServer } from './metrics-endpoint.ts';

describe('metrics on the main port', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await startTestApp({ env: { METRICS_TOKEN: 'only for the scraper' } });
  });
  afterAll(() => app.close());

  const scrape = (authorization?: string) =>
    app.app.http.inject({ url: '/metrics', headers: authorization === undefined ? {} : { authorization } });

  it.each([
    [undefined],
    ['Bearer wrong'],
    ['Bearer '],
    ['only for the scraper'],
    ['Basic only for the scraper'],
  ])('are refused with %s', async (authorization) => {
    const answer = await scrape(authorization);
    expect(answer.statusCode).toBe(401);
    expect(answer.body).not.toContain('lintel_http');
  });

  it('tell durations by operation and kind of status, the event loop and the connections', async () => {
    await app.request('GET', '/status');
    await app.request('GET', '/api-keys');
    await app.app.http.inject('/made-up-by-a-stranger');
    const { statusCode, headers, body } = await scrape('Bearer only for the scraper');
    expect(statusCode).toBe(200);
    expect(headers['content-type']).toContain('text/plain');
    const count = 'lintel_http_request_duration_seconds_count';
    expect(body).toContain(`${count}{operation="get_backend_status",status_class="2xx"} 1`);
    expect(body).toContain(`${count}{operation="list_api_keys",status_class="4xx"} 1`);
    expect(body).not.toContain('made-up-by-a-stranger');
    expect(body).toMatch(/^lintel_database_connections\{state="idle"\} \d+$/m);
    expect(body).toMatch(/^nodejs_eventloop_lag_seconds \S+$/m);
  });
});

describe('metrics without a token', () => {
  it('are not on the main port', async () => {
    const app = await startTestApp();
    expect((await app.app.http.inject('/metrics')).statusCode).toBe(404);
    await app.close();
  });
});

describe('metrics on a port of their own', () => {
  it.each([
    [null, undefined, 200],
    [new Secret('token'), undefined, 401],
    [new Secret('token'), 'Bearer token', 200],
  ])('with token %s and header %s answer %i', async (token, authorization, status) => {
    const server = createMetricsServer({ registry: new Registry(), token }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const answer = await fetch(`${origin}/metrics`, { headers: authorization ? { authorization } : {} });
    expect(answer.status).toBe(status);
    expect((await fetch(`${origin}/api/v1/status`)).status).toBe(404);
    server.close();
    server.closeAllConnections();
  });
});
