import { once } from 'node:events';
import { createServer as createHttp, type RequestListener } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, createServer as createTcp, type Server } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { freePort } from '../../test/support/peers/free-port.ts';
import { selfSigned } from '../../test/support/self-signed.ts';
import { createEgress, type EgressOptions } from './egress.ts';
import { parseEgressAllow } from './egress-allow.ts';

const tls = selfSigned('hooks.example', '127.0.0.1');
const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function listening(server: Server, host = '127.0.0.1', port = 0): Promise<number> {
  servers.push(server);
  server.listen(port, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const secure = (listener: RequestListener) =>
  listening(createHttps({ key: tls.key, cert: tls.certificate }, listener));

function egressTo(allow: string, options: EgressOptions = {}) {
  const parsed = parseEgressAllow(allow);
  if (parsed === null) throw new Error('not a list');
  return createEgress({ allow: parsed, ca: tls.certificate, resolve: async () => ['127.0.0.1'], ...options });
}

describe('a request', () => {
  it('goes out by TLS to the name it was meant for and brings the answer back', async () => {
    const port = await secure((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => response.writeHead(201, { 'x-a': 'b' }).end(`${request.headers.host} ${body}`));
    });
    const outcome = await egressTo('hooks.example').fetchBounded(`https://hooks.example:${port}/in?q=1`, {
      method: 'POST',
      body: 'é',
      headers: { host: 'evil', 'transfer-encoding': 'chunked' },
    });
    expect(outcome).toMatchObject({ kind: 'response', status: 201, headers: { 'x-a': 'b' } });
    expect(outcome.kind === 'response' && outcome.body.toString()).toBe(`hooks.example:${port} é`);
  });

  it('fails where the certificate is for another name', async () => {
    const port = await secure((_, response) => response.end('ok'));
    expect(await egressTo('other.example').fetchBounded(`https://other.example:${port}/`)).toEqual({
      kind: 'failed',
      reason: 'no usable answer (ERR_TLS_CERT_ALTNAME_INVALID)',
    });
  });

  it('resolves a name once: what it means afterwards does not matter', async () => {
    let inside = 0;
    const outside = createHttp((_, response) => response.end('outside'));
    const port = await freePort();
    await listening(outside, '127.0.0.2', port);
    await listening(
      createHttp((_, response) => {
        inside += 1;
        response.end('inside');
      }),
      '127.0.0.1',
      port,
    );
    let lookups = 0;
    const egress = egressTo('127.0.0.2', {
      resolve: async () => [(lookups++ === 0 ? '127.0.0.2' : '127.0.0.1') as string],
    });
    const url = `http://rebinding.example:${port}/`;
    expect(await egress.fetchBounded(url)).toMatchObject({ kind: 'response', body: Buffer.from('outside') });
    expect(lookups).toBe(1);
    expect(await egress.fetchBounded(url)).toMatchObject({ kind: 'refused' });
    expect(inside).toBe(0);
  });

  it.each([301, 302, 303, 307, 308])('does not follow a %i', async (status) => {
    const seen: (string | undefined)[] = [];
    const port = await secure((request, response) => {
      seen.push(request.url);
      response.writeHead(status, { location: '/inside' }).end();
    });
    const outcome = await egressTo('127.0.0.1').fetchBounded(`https://127.0.0.1:${port}/out`);
    expect(outcome).toMatchObject({ kind: 'response', status });
    expect(seen).toEqual(['/out']);
  });

  it('to the internet takes https and its ports only', async () => {
    const egress = createEgress({ resolve: async () => ['93.184.215.14'] });
    expect(await egress.problemOf('https://hooks.example/')).toBeNull();
    expect(await egress.problemOf('https://hooks.example:8443/')).toBeNull();
    expect(await egress.problemOf('http://hooks.example/')).toBe('the address is not https');
    expect(await egress.problemOf('https://hooks.example:22/')).toBe('the port is none of 443, 8443');
    expect(await egress.problemOf(`https://hooks.example/${'x'.repeat(2048)}`)).toBe(
      'the address is not usable',
    );
  });

  it('is refused where the name can not be found, and says nothing of why', async () => {
    const egress = createEgress({ resolve: () => Promise.reject(new Error('secret-of-the-resolver')) });
    expect(await egress.problemOf('https://hooks.example/')).toBe('the host was not found');
  });

  it('to the metadata of a cloud is refused even where its name or network is allowed', async () => {
    const egress = egressTo('meta.example 169.254.0.0/16', { resolve: async () => ['169.254.169.254'] });
    expect(await egress.problemOf('https://meta.example/')).toBe('the address is not public');
    expect(await egress.problemOf('http://169.254.169.254/')).toBe('the address is not public');
  });
});

describe('an answer', () => {
  const get = async (listener: RequestListener, request = {}) => {
    const port = await secure(listener);
    return egressTo('127.0.0.1').fetchBounded(`https://127.0.0.1:${port}/`, request);
  };

  it('is taken up to the limit and not a byte further, announced or not', async () => {
    expect(await get((_, response) => response.end('x'.repeat(10)), { maxBytes: 10 })).toMatchObject({
      status: 200,
    });
    const tooLarge = { kind: 'failed', reason: 'the answer is larger than 10 bytes' };
    expect(await get((_, response) => response.end('x'.repeat(11)), { maxBytes: 10 })).toEqual(tooLarge);
    const endless: RequestListener = (_, response) => {
      const timer = setInterval(() => response.write('x'.repeat(65_536)), 1);
      response.on('close', () => clearInterval(timer));
    };
    expect(await get(endless, { maxBytes: 10 })).toEqual(tooLarge);
  });

  it('is not unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(5_000_000));
    const outcome = await get((_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    );
    expect(outcome).toEqual({ kind: 'failed', reason: 'the answer is compressed' });
  });

  it('of another type than asked for is refused', async () => {
    const page: RequestListener = (_, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p>');
    expect(await get(page, { accept: ['image/png', 'image/webp'] })).toEqual({
      kind: 'failed',
      reason: 'the answer is none of image/png, image/webp',
    });
  });

  it('that does not come, or drips, ends with the time given', async () => {
    const late = { kind: 'failed', reason: 'no answer in time' };
    expect(await get(() => undefined, { timeoutMs: 300 })).toEqual(late);
    const dripping: RequestListener = (_, response) => {
      const timer = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(timer));
    };
    expect(await get(dripping, { timeoutMs: 300 })).toEqual(late);
  });

  it('never starts where no TLS comes about', async () => {
    const port = await listening(createTcp((socket) => socket.on('error', () => undefined)));
    const egress = egressTo('127.0.0.1', { connectTimeoutMs: 200 });
    expect(await egress.fetchBounded(`https://127.0.0.1:${port}/`)).toEqual({
      kind: 'failed',
      reason: 'no connection in time',
    });
  });
});

describe('the list of own targets', () => {
  it.each(['10.0.0.0/33', '10.0.0/8', '10.0.0.1/8/8', 'a b!', 'http://host', '*', '::/129', '1.2.3'])(
    'does not take %s',
    (text) => expect(parseEgressAllow(text)).toBeNull(),
  );

  it('takes names, addresses and ranges', () => {
    const allow = parseEgressAllow('printer.lan, 10.1.0.0/16 ::1\n192.168.7.9');
    expect(allow?.hasHost('PRINTER.lan.')).toBe(true);
    expect(allow?.hasHost('other.printer.lan')).toBe(false);
    const inside = ['10.1.255.255', '::1', '192.168.7.9'];
    expect(inside.map((address) => allow?.hasAddress(address))).toEqual([true, true, true]);
    const outside = ['10.2.0.0', '::2', '192.168.7.8', 'printer.lan'];
    expect(outside.map((address) => allow?.hasAddress(address))).toEqual([false, false, false, false]);
  });
});
