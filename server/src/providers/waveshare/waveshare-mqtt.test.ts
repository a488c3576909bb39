import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { commandTo, connectProvider, entityOf } from '../../../test/support/connected-provider.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { type Mosquitto, startMosquitto } from '../../../test/support/peers/mosquitto.ts';
import { startBoardPeer } from '../../../test/support/peers/waveshare-board-peer.ts';
import { attachMqttModule } from '../../../test/support/peers/waveshare-mqtt-module.ts';
import { connectWaveshare, type WaveshareTiming } from './waveshare.provider.ts';
import { rtuFraming, writeCoil } from './waveshare.wire.ts';

const timing: WaveshareTiming = { connectWithinMs: 2_000, replyWithinMs: 5_000, pollEveryMs: 50 };
/** For a board that stays silent: one that does answer may need longer on a busy machine. */
const silenceMs = 300;
const door = entityOf({ entityId: 'door', metadata: { channel_index: '3' } });

let broker: Mosquitto;
beforeAll(async () => {
  broker = await startMosquitto();
});
afterAll(() => broker.close());

const openThings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of openThings.splice(0).reverse()) await close();
});

async function boardOnMqtt(own = broker) {
  const board = await startBoardPeer('rtu');
  openThings.push(() => board.stop());
  const topics = { command: `board/${board.port}/in`, reply: `board/${board.port}/out` };
  const attach = async () => attachMqttModule(await own.client(), board, topics);
  const module = await attach();
  const config = {
    transport: 'rtu_mqtt',
    broker_host: '127.0.0.1',
    broker_port: own.port,
    command_topic: topics.command,
    reply_topic: topics.reply,
  };
  const times = { ...timing };
  const bench = connectProvider(
    { connect: (link, context) => connectWaveshare(link, context, times) },
    { config },
  );
  const { connection } = bench;
  openThings.push(() => connection.close());
  connection.bind([door]);
  await eventually(() => connection.health() === 'ok');
  return { ...bench, board, topics, module, attach, times };
}

describe('a relay board over MQTT', () => {
  it('opens, pulses, toggles and closes', async () => {
    const { board, connection } = await boardOnMqtt();
    const { open, toggle, close } = connection.actions;
    expect(await open?.(commandTo(door, { pulseSeconds: 60 }))).toEqual({
      kind: 'delivered',
      observed: 'open',
    });
    expect(await toggle?.(commandTo(door))).toEqual({ kind: 'delivered', observed: 'closed' });
    expect(await open?.(commandTo(door))).toEqual({ kind: 'delivered', observed: 'open' });
    expect(await close?.(commandTo(door))).toEqual({ kind: 'delivered', observed: 'closed' });
    expect(board.writes).toEqual(['0502030258', '0500035500', '050003ff00', '0500030000']);
    expect(board.overlaps()).toBe(0);
  });

  it('reports what changes at the board', async () => {
    const { board, reported } = await boardOnMqtt();
    const seen = reported('door', 'open');
    board.set(3, true);
    await seen;
  });

  it('is not asked twice when the reply is lost, nor the same again while it could still arrive', async () => {
    const { board, connection, times } = await boardOnMqtt();
    board.fault({ kind: 'drop_reply' });
    times.replyWithinMs = silenceMs;
    expect((await connection.actions.open?.(commandTo(door)))?.kind).toBe('unknown');
    board.fault({ kind: 'none' });
    times.replyWithinMs = timing.replyWithinMs;
    expect((await connection.actions.open?.(commandTo(door)))?.kind).toBe('not_sent');
    expect(board.writes).toEqual(['050003ff00']);
    expect(await connection.actions.close?.(commandTo(door))).toEqual({
      kind: 'delivered',
      observed: 'closed',
    });
  });

  it('refuses with an exception', async () => {
    const { board, connection } = await boardOnMqtt();
    board.fault({ kind: 'exception', code: 2 });
    expect((await connection.actions.open?.(commandTo(door)))?.kind).toBe('refused');
  });

  it('that nobody connects is surely not reached, and nothing waits for its return', async () => {
    const { board, connection, module, attach } = await boardOnMqtt();
    await module.detach();
    expect((await connection.actions.open?.(commandTo(door)))?.kind).toBe('not_sent');
    await attach();
    await eventually(() => connection.health() === 'ok');
    expect(board.writes).toEqual([]);
    expect((await connection.actions.close?.(commandTo(door)))?.kind).toBe('delivered');
  });

  it('is not taken to have answered by what answers something else', async () => {
    const { board, connection, topics } = await boardOnMqtt();
    board.fault({ kind: 'drop_reply' });
    const opening = connection.actions.open?.(commandTo(door));
    await eventually(() => board.writes.length === 1);
    const stranger = await broker.client();
    const echo = rtuFraming.encode(1, 0, writeCoil(3, 'on'));
    const others = [
      rtuFraming.encode(1, 0, writeCoil(3, 'off')),
      rtuFraming.encode(2, 0, writeCoil(3, 'on')),
      Buffer.concat([echo, Buffer.alloc(1)]),
      echo.subarray(0, -1),
    ];
    for (const other of others) await stranger.publishAsync(topics.reply, other);
    expect((await opening)?.kind).toBe('unknown');
  });

  it('works again after the broker was killed', async () => {
    const own = await startMosquitto();
    openThings.push(() => own.close());
    const { board, connection, attach } = await boardOnMqtt(own);
    await own.kill();
    await eventually(() => connection.health() === 'error');
    expect((await connection.actions.open?.(commandTo(door)))?.kind).toBe('not_sent');
    await own.start();
    await attach();
    // A poll that came before the board has waited longer each time, up to 20 s.
    await eventually(() => connection.health() === 'ok', 40_000);
    expect(board.writes).toEqual([]);
    expect(await connection.actions.open?.(commandTo(door))).toEqual({
      kind: 'delivered',
      observed: 'open',
    });
  });
});
