import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { expect, it, vi } from 'vitest';
import { soon } from '../../../test/support/eventually.ts';
import { startTcpCut } from '../../../test/support/peers/tcp-cut.ts';
import { selfSigned } from '../../../test/support/self-signed.ts';
import { openResettingSocket, type ResettingSocket } from './resetting-socket.ts';

const { certificate, key } = selfSigned('127.0.0.1');

async function stalled(
  tls: boolean,
  leave: (socket: ResettingSocket) => void,
  { isReset }: { isReset: boolean },
): Promise<string> {
  let heard = '';
  const hear = (socket: Socket): void =>
    void socket.on('error', () => undefined).on('data', (chunk) => (heard += String(chunk)));
  const server = tls ? createTlsServer({ cert: certificate, key }, hear) : createTcpServer(hear);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = await startTcpCut((server.address() as AddressInfo).port);
  const socket = openResettingSocket({ host: '127.0.0.1', port: cut.port, tls, caCertificate: certificate });
  socket.stream.on('error', () => undefined).write('before ');
  await vi.waitFor(() => expect(heard).toBe('before '), soon);
  const closed = once(socket.stream, 'close');
  cut.cut('hold');
  socket.stream.write('open');
  await delay(50);
  leave(socket);
  // A reset comes through a stalled wire; a peaceful end is held up with the rest.
  if (isReset) await vi.waitFor(() => expect(cut.connections()).toBe(0), soon);
  cut.cut('none');
  await closed;
  await vi.waitFor(() => expect(cut.connections()).toBe(0), soon);
  await cut.close();
  server.close();
  return heard;
}

const OVER = [
  ['TCP', false],
  ['TLS', true],
] as const;

it.each(OVER)(
  'over %s: a stalled network has nothing left to give once it is destroyed or reset',
  async (_over, tls) => {
    expect(await stalled(tls, ({ stream }) => stream.destroy(), { isReset: true })).toBe('before ');
    expect(await stalled(tls, ({ reset }) => reset(), { isReset: true })).toBe('before ');
  },
);

it.each(OVER)('over %s: what was written before a peaceful end arrives', async (_over, tls) => {
  expect(await stalled(tls, ({ stream }) => stream.end(), { isReset: false })).toBe('before open');
});

it('that can not be connected fails with the reason', async () => {
  const { stream } = openResettingSocket({ host: '127.0.0.1', port: 9, tls: false });
  expect(await once(stream, 'error')).toMatchObject([{ code: 'ECONNREFUSED' }]);
});
