import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Value } from 'typebox/value';
import { afterEach, describe, expect, it } from 'vitest';
import { commandTo, connectProvider, entityOf } from '../../../test/support/connected-provider.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { startPymodbus } from '../../../test/support/peers/pymodbus.ts';
import { runOp } from '../../../test/support/peers/run-op.ts';
import { type BoardFault, startBoardPeer } from '../../../test/support/peers/waveshare-board-peer.ts';
import type { Connection } from '../provider.ts';
import { connectWaveshare, type WaveshareTiming, waveshare } from './waveshare.provider.ts';

const timing: WaveshareTiming = { connectWithinMs: 2_000, replyWithinMs: 5_000, pollEveryMs: 30 };
const hour: WaveshareTiming = { ...timing, pollEveryMs: 3_600_000 };
/** For a board that stays silent: one that does answer may need longer on a busy machine. */
const silenceMs = 150;
const door = entityOf({ entityId: 'door', metadata: { channel_index: '3' } });
const light = entityOf({ entityId: 'light', entityType: 'light', metadata: { channel_index: '29' } });

const openThings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of openThings.splice(0).reverse()) await close();
});

function connectTo(config: Record<string, unknown>, times = timing) {
  const bench = connectProvider(
    { connect: (link, context) => connectWaveshare(link, context, times) },
    { config: { host: '127.0.0.1', ...config } },
  );
  openThings.push(() => bench.connection.close());
  return bench;
}

async function boardWith(transport: 'modbus_tcp' | 'rtu_tcp', times = timing) {
  const board = await startBoardPeer(transport === 'rtu_tcp' ? 'rtu' : 'mbap');
  openThings.push(() => board.stop());
  return { board, ...connectTo({ transport, port: board.port }, times) };
}

const act = (connection: Connection, verb: 'open' | 'close' | 'toggle', pulse: number | null = null) =>
  connection.actions[verb]?.(commandTo(door, { pulseSeconds: pulse }));

describe.each(['modbus_tcp', 'rtu_tcp'] as const)('a pymodbus server over %s', (transport) => {
  const dialect = transport === 'rtu_tcp' ? 'rtu' : 'mbap';

  it('is switched on and off, and what it does by itself is reported', async () => {
    const peer = await startPymodbus(dialect);
    openThings.push(() => peer.stop());
    const { connection, reported } = connectTo({ transport, port: peer.port });
    const first = reported('door', 'closed');
    connection.bind([door, light]);
    await first;

    expect(await act(connection, 'open')).toEqual({ kind: 'delivered', observed: 'open' });
    expect(await act(connection, 'close')).toEqual({ kind: 'delivered', observed: 'closed' });
    expect(peer.changes()).toEqual(['coil 3 1', 'coil 3 0']);
    const seen = reported('light', 'open');
    peer.set(29, true);
    await seen;
    expect(connection.health()).toBe('ok');
  });

  it('is reached again after it was killed', async () => {
    const first = await startPymodbus(dialect);
    openThings.push(() => first.stop());
    const { connection } = connectTo({ transport, port: first.port });
    connection.bind([door]);
    await eventually(() => connection.health() === 'ok');
    await first.stop();
    await eventually(() => connection.health() === 'error');
    expect((await act(connection, 'open'))?.kind).toBe('not_sent');

    const second = await startPymodbus(dialect, first.port);
    openThings.push(() => second.stop());
    expect(await act(connection, 'open')).toEqual({ kind: 'delivered', observed: 'open' });
    expect(second.changes()).toEqual(['coil 3 1']);
    await eventually(() => connection.health() === 'ok');
  });
});

describe.each(['modbus_tcp', 'rtu_tcp'] as const)('a relay board over %s', (transport) => {
  it('opens, closes and toggles with its own orders', async () => {
    const { board, connection } = await boardWith(transport);
    expect(await act(connection, 'open')).toEqual({ kind: 'delivered', observed: 'open' });
    expect(await act(connection, 'toggle')).toEqual({ kind: 'delivered', observed: 'closed' });
    expect(await act(connection, 'toggle')).toEqual({ kind: 'delivered', observed: 'open' });
    expect(await act(connection, 'close')).toEqual({ kind: 'delivered', observed: 'closed' });
    expect(board.writes).toEqual(['050003ff00', '0500035500', '0500035500', '0500030000']);
  });

  it('ends a pulse by itself, even when the service is gone', async () => {
    const { board, connection } = await boardWith(transport);
    expect(await act(connection, 'open', 2)).toEqual({ kind: 'delivered', observed: 'open' });
    await connection.close();
    expect(board.relays[3]).toBe(true);
    await eventually(() => board.relays[3] === false);
    expect(board.writes).toEqual(['0502030014']);
  });

  it('toggles with a pulse by looking first', async () => {
    const { board, connection } = await boardWith(transport);
    expect(await act(connection, 'toggle', 60)).toEqual({ kind: 'delivered', observed: 'open' });
    expect(await act(connection, 'toggle', 60)).toEqual({ kind: 'delivered', observed: 'closed' });
    expect(board.writes).toEqual(['0502030258', '0500030000']);
  });

  it.each<[BoardFault['kind'], BoardFault]>([
    ['drop_reply', { kind: 'drop_reply' }],
    ['reset', { kind: 'reset' }],
    ['half_reply', { kind: 'half_reply' }],
    ['wrong_reply', { kind: 'wrong_reply' }],
    ['delay', { kind: 'delay', ms: 400 }],
  ])('is not asked twice when the reply is lost: %s', async (_name, fault) => {
    const times = { ...timing };
    const { board, connection } = await boardWith(transport, times);
    board.fault(fault);
    times.replyWithinMs = silenceMs;
    expect((await act(connection, 'open'))?.kind).toBe('unknown');
    expect(board.writes).toEqual(['050003ff00']);
    board.fault({ kind: 'none' });
    times.replyWithinMs = timing.replyWithinMs;
    expect(await act(connection, 'close')).toEqual({ kind: 'delivered', observed: 'closed' });
    expect(board.writes).toEqual(['050003ff00', '0500030000']);
  });

  it.each([
    [1, 'refused'],
    [2, 'refused'],
    [3, 'refused'],
    [4, 'unknown'],
    [6, 'unknown'],
    [0x0a, 'unknown'],
    [0x0b, 'unknown'],
  ])('means with exception %i: %s', async (code, kind) => {
    const { board, connection } = await boardWith(transport);
    board.fault({ kind: 'exception', code });
    expect(await act(connection, 'open')).toMatchObject({ kind, reason: expect.stringContaining(`${code}`) });
    expect(board.relays[3]).toBe(false);
  });

  it('that is silent has the command taken back, so that it does not arrive later', async () => {
    const ends: string[] = [];
    const silent = createServer((socket) => {
      socket.on('data', () => undefined).on('end', () => ends.push('end'));
      socket.on('error', (error: NodeJS.ErrnoException) => ends.push(error.code ?? ''));
    }).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const { connection } = connectTo({ transport, port }, { ...hour, replyWithinMs: silenceMs });
    expect((await act(connection, 'open'))?.kind).toBe('unknown');
    await eventually(() => ends.length > 0);
    silent.close();
    expect(ends).toEqual(['ECONNRESET']);
  });

  it('that is not there gets nothing, and what was missed is not made up for', async () => {
    const { board, connection } = await boardWith(transport, hour);
    await board.stop();
    expect((await act(connection, 'open'))?.kind).toBe('not_sent');
    await board.start();
    expect(await act(connection, 'close')).toEqual({ kind: 'delivered', observed: 'closed' });
    expect(board.writes).toEqual(['0500030000']);
  });

  it('gets one request at a time', async () => {
    const { board, connection } = await boardWith(transport);
    connection.bind([door, light]);
    board.fault({ kind: 'delay', ms: 20 }, true);
    const orders = Array.from({ length: 10 }, async (_, index) =>
      connection.actions[index % 2 === 0 ? 'open' : 'close']?.(commandTo(index % 3 === 0 ? light : door)),
    );
    const kinds = (await Promise.all(orders)).map((delivery) => delivery?.kind);
    expect(new Set(kinds)).toEqual(new Set(['delivered']));
    expect({ overlaps: board.overlaps(), writes: board.writes.length }).toEqual({ overlaps: 0, writes: 10 });
  });
});

describe('a relay board', () => {
  it('that acknowledges and does not move is delivered and seen closed', async () => {
    const { board, connection } = await boardWith('modbus_tcp');
    board.fault({ kind: 'linkage' });
    expect(await act(connection, 'open')).toEqual({ kind: 'delivered', observed: 'closed' });
  });

  it('is not written to after the deadline', async () => {
    const { board, connection } = await boardWith('modbus_tcp');
    await eventually(() => connection.health() === 'ok');
    expect((await connection.actions.open?.(commandTo(door, { withinMs: 0 })))?.kind).toBe('not_sent');
    expect((await connection.actions.open?.(commandTo(door, { pulseSeconds: 2, withinMs: -1 })))?.kind).toBe(
      'not_sent',
    );
    expect(board.writes).toEqual([]);
  });

  it('is not written to when the caller has given up, nor when it was busy until then', async () => {
    const { board, connection } = await boardWith('modbus_tcp', hour);
    const gone = { ...commandTo(door), signal: AbortSignal.abort() };
    expect((await connection.actions.open?.(gone))?.kind).toBe('not_sent');
    expect(board.writes).toEqual([]);

    board.fault({ kind: 'delay', ms: 2_000 });
    const slow = act(connection, 'open');
    await eventually(() => board.writes.length === 1);
    expect((await connection.actions.close?.(commandTo(light, { withinMs: 200 })))?.kind).toBe('not_sent');
    expect(await slow).toEqual({ kind: 'delivered', observed: 'open' });
    expect(board.writes).toEqual(['050003ff00']);
  });

  it('is asked for no pulse it cannot count', async () => {
    const { board, connection } = await boardWith('modbus_tcp');
    expect((await act(connection, 'open', 3_300))?.kind).toBe('not_sent');
    expect(board.writes).toEqual([]);
  });

  it('out of sight is unknown and an error, and both are over when it is back', async () => {
    const { board, connection, reported, reports } = await boardWith('rtu_tcp');
    expect(connection.health()).toBe('reduced');
    connection.bind([door]);
    await eventually(() => reports().length > 0 && connection.health() === 'ok');
    const lost = reported('door', 'unknown');
    await board.stop();
    await lost;
    expect(connection.health()).toBe('error');
    const seen = reported('door', 'closed');
    await board.start();
    await seen;
    expect(connection.health()).toBe('ok');
    expect(reports()).toEqual(['door closed', 'door unknown', 'door closed']);
    expect(board.writes).toEqual([]);
  });

  it('reports a change once, and the end of a pulse', async () => {
    const { board, connection, reports, reported } = await boardWith('modbus_tcp');
    const first = reported('door', 'closed');
    connection.bind([door]);
    await first;
    await act(connection, 'open', 2);
    await eventually(() => reports().at(-1) === 'door closed' && reports().length > 1);
    expect(board.relays[3]).toBe(false);
    expect(reports().filter((report) => report === 'door open').length).toBeLessThanOrEqual(1);
  });

  it('keeps no connection after close', async () => {
    const { board, connection } = await boardWith('modbus_tcp');
    await act(connection, 'open');
    expect(board.connections()).toBe(1);
    await connection.close();
    await eventually(() => board.connections() === 0);
    expect((await act(connection, 'close'))?.kind).toBe('not_sent');
    expect(board.writes).toEqual(['050003ff00']);
  });
});

describe('the manifest', () => {
  it('lets a door fall shut by itself, and leaves everything else as it is told', () => {
    const { defaultPulseSeconds } = waveshare.manifest;
    expect(defaultPulseSeconds({}, 'door')).toBe(5);
    expect(defaultPulseSeconds({}, 'switch')).toBeNull();
  });

  it.each([
    [true, { host: 'board' }],
    [true, { transport: 'rtu_tcp', host: 'board' }],
    [false, { transport: 'rtu_tcp' }],
    [true, { transport: 'rtu_mqtt', broker_host: 'broker', command_topic: 'in', reply_topic: 'out' }],
    [false, { transport: 'rtu_mqtt', broker_host: 'broker', command_topic: 'in' }],
    [false, { transport: 'rtu_mqtt', host: 'board' }],
    [false, {}],
  ])('takes what the transport needs: %s for %j', (expected, config) => {
    expect(Value.Check(waveshare.manifest.config, config)).toBe(expected);
  });

  it.each(['0', '9', '10', '29'])('takes relay %s', (channel_index) => {
    expect(Value.Check(waveshare.manifest.entityMetadata, { channel_index })).toBe(true);
  });

  it.each(['30', '-1', '01', '1.5', '', ' 1', 'x'])('takes no relay %j', (channel_index) => {
    expect(Value.Check(waveshare.manifest.entityMetadata, { channel_index })).toBe(false);
  });
});

describe.each(['modbus_tcp', 'rtu_tcp'] as const)('ops over %s', (transport) => {
  it('read the relays and switch none', async () => {
    const { board, connection } = await boardWith(transport, hour);
    connection.bind([door]);
    await act(connection, 'open');
    const writes = board.writes.length;
    const answer = await runOp(connection, 'relays.read', { count: 5 });
    expect(answer).toEqual({
      kind: 'done',
      result: {
        relays: [0, 1, 2, 3, 4].map((channel_index) => ({ channel_index, on: channel_index === 3 })),
      },
    });
    expect(await runOp(connection, 'relays.read')).toMatchObject({ result: { relays: { length: 8 } } });
    expect(await runOp(connection, 'connection.test')).toMatchObject({
      result: { message: 'the board answers' },
    });
    expect(board.writes).toHaveLength(writes);
    await board.stop();
    expect((await runOp(connection, 'relays.read', {}, 1_000)).kind).not.toBe('done');
    expect(await runOp(connection, 'relays.read', {}, 1_000)).toMatchObject({ kind: 'not_sent' });
    expect(await runOp(connection, 'connection.test')).toMatchObject({ result: { health: 'error' } });
  });
});
