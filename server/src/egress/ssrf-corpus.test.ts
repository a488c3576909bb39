// Every way to write "this machine" or "the network behind it" that we know of. What counts is not what is answered but
// that nobody ever connects.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEgress, type Egress } from './egress.ts';
import { parseEgressAllow } from './egress-allow.ts';

/** Forms of one address that the URL parser, a resolver or a careless check might read differently. */
const loopbackHosts = [
  '127.0.0.1',
  '127.0.0.2',
  '127.1',
  '127.0.1',
  '127.255.255.254',
  '2130706433',
  '017700000001',
  '0177.0.0.1',
  '0177.0.0.01',
  '00000177.0.0.1',
  '0x7f.0.0.1',
  '0x7f.1',
  '0x7f000001',
  '0x7F000001',
  '0X7F.0X0.0X0.0X1',
  '0x00000000000000007f000001',
  '127.0x1',
  '127.0.0.01',
  '127.0.0.1.',
  '%31%32%37.0.0.1',
  '127%2e0%2e0%2e1',
  '127。0。0。1',
  '127．0．0．1',
  '127｡0｡0｡1',
  '１２７.0.0.1',
  '①②⑦.⓪.⓪.①',
  '0',
  '0.0.0.0',
  '0x0',
  '0.0',
  '00000000',
  'localhost',
  'localhost.',
  'LOCALHOST',
  'LocalHost',
  'ｌｏｃａｌｈｏｓｔ',
  'loc\tal\nhost',
  'local\u00adhost',
  '[::1]',
  '[::]',
  '[0:0:0:0:0:0:0:1]',
  '[0000:0000:0000:0000:0000:0000:0000:0001]',
  '[::0.0.0.1]',
  '[::127.0.0.1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::FFFF:7F00:0001]',
  '[0:0:0:0:0:ffff:127.0.0.1]',
  '[::ffff:0:127.0.0.1]',
  '[::ffff:0.0.0.0]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b:1::7f00:1]',
  '[2002:7f00:1::]',
  '[2002:7f00:0001::1]',
  '[2001:0:7f00:1::]',
  '[fe80::1]',
  '[fe80::1%25lo]',
  '[fec0::1]',
  '[fc00::1]',
  '[fd00::1]',
  '[ff02::1]',
  '[100::1]',
  '[2001:db8::1]',
  '[2001:10::1]',
  '[3fff::1]',
  '[5f00::1]',
];

const networkHosts = [
  '10.0.0.1',
  '10.255.255.255',
  '012.0.0.1',
  '0xa.0.0.1',
  '167772161',
  '100.64.0.1',
  '100.127.255.254',
  '169.254.0.1',
  '169.254.169.254',
  '0xa9fea9fe',
  '2852039166',
  '0251.0376.0251.0376',
  '[::ffff:169.254.169.254]',
  '[64:ff9b::a9fe:a9fe]',
  '[2002:a9fe:a9fe::]',
  '[fd00:ec2::254]',
  '172.16.0.1',
  '172.31.255.254',
  '192.0.0.1',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '192.168.255.254',
  '3232235521',
  '198.18.0.1',
  '198.19.255.254',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.250',
  '240.0.0.1',
  '255.255.255.255',
  '4294967295',
  '[::ffff:10.0.0.1]',
  '[::ffff:c0a8:1]',
  '[64:ff9b::10.0.0.1]',
  '[2002:c0a8:1::]',
];

/** Whole addresses: `{}` is the port of the canary. */
const shapes = [
  'https://user@127.0.0.1:{}/',
  'https://user:password@localhost:{}/',
  'https://example.com@127.0.0.1:{}/',
  'https://example.com:443@localhost:{}/',
  'https://example.com%40127.0.0.1:{}/',
  'https://127.0.0.1:{}#@example.com/',
  'https://127.0.0.1:{}?@example.com/',
  'https://127.0.0.1:{}\\@example.com/',
  'https:\\\\127.0.0.1:{}\\',
  'https:127.0.0.1:{}/',
  'https:/127.0.0.1:{}/',
  'https:////127.0.0.1:{}/',
  ' https://127.0.0.1:{}/ ',
  'ht\ntps://127.0.0.1:{}/',
  'HTTPS://127.0.0.1:{}/',
  'http://127.0.0.1:{}/',
  'ws://127.0.0.1:{}/',
  'wss://127.0.0.1:{}/',
  'ftp://127.0.0.1:{}/',
  'gopher://127.0.0.1:{}/_GET',
  'file:///etc/passwd',
  'file://127.0.0.1:{}/etc/passwd',
  'data:text/plain,hello',
  'blob:https://127.0.0.1:{}/x',
  'javascript:fetch("https://127.0.0.1:{}/")',
  'unix:/var/run/docker.sock',
  'https://unix:%2Fvar%2Frun%2Fdocker.sock:{}/',
  '//127.0.0.1:{}/',
  '127.0.0.1:{}',
  'https://',
  'https://:{}/',
  'https://[::1/',
  'https://[127.0.0.1]:{}/',
  'https://127.0.0.1:{}0000/',
];

/** What a name server of an attacker answers. */
const names: Readonly<Record<string, readonly string[]>> = {
  'loopback.example': ['127.0.0.1'],
  'loopback6.example': ['::1'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'any.example': ['0.0.0.0'],
  'nat64.example': ['64:ff9b::7f00:1'],
  'mixed.example': ['93.184.215.14', '127.0.0.1'],
  'mixed-last.example': ['127.0.0.1', '93.184.215.14'],
  'mixed6.example': ['2606:2800:21f:cb07:6820:80da:af6b:8b2c', '::1'],
  'scoped.example': ['fe80::1%lo'],
  'metadata.example': ['169.254.169.254'],
  'nothing.example': [],
  'odd.example': ['0177.0.0.1', '127.1', ''],
};

let canaries: Server[];
let port: number;
let connections = 0;

async function listen(host: string, wanted: number): Promise<Server> {
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    socket.destroy();
  }).listen({ host, port: wanted, ipv6Only: host === '::' });
  await once(server, 'listening');
  return server;
}

const egressWith = (allow = ''): Egress => {
  const parsed = parseEgressAllow(allow);
  if (parsed === null) throw new Error('not a list');
  return createEgress({
    ports: [port, 443],
    allow: parsed,
    connectTimeoutMs: 300,
    resolve: async (host) => names[host] ?? (/^localhost\.?$/.test(host) ? ['127.0.0.1', '::1'] : []),
  });
};

const corpus = (): string[] => [
  ...[...loopbackHosts, ...networkHosts, ...Object.keys(names)].map((host) => `https://${host}:${port}/`),
  ...shapes.map((shape) => shape.replaceAll('{}', String(port))),
];

beforeAll(async () => {
  const v4 = await listen('0.0.0.0', 0);
  port = (v4.address() as AddressInfo).port;
  // A machine without IPv6 has one canary less.
  const v6 = await listen('::', port).catch(() => null);
  canaries = v6 === null ? [v4] : [v4, v6];
});
afterAll(() => {
  for (const canary of canaries) canary.close();
});

describe('an address that a caller gives', () => {
  it('never leads inside, however it is written', async () => {
    const egress = egressWith();
    const outcomes: string[] = [];
    for (const url of corpus()) outcomes.push(`${url} ${(await egress.fetchBounded(url)).kind}`);
    expect(outcomes.length).toBeGreaterThan(140);
    expect(outcomes.filter((line) => !line.endsWith(' refused'))).toEqual([]);
    for (const url of corpus()) expect(await egress.problemOf(url), url).not.toBeNull();
    expect(connections).toBe(0);
  });

  it('would lead inside without the check of addresses: the canaries are awake', async () => {
    const before = connections;
    const egress = egressWith('0.0.0.0/8 127.0.0.0/8 ::/8');
    for (const host of loopbackHosts) await egress.fetchBounded(`https://${host}:${port}/`);
    expect(connections - before).toBeGreaterThan(30);
  });
});
