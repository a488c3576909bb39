import { afterEach, describe, expect, it } from 'vitest';
import { commandTo, connectProvider, entityOf } from '../../../test/support/connected-provider.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { startGatewayPeer } from '../../../test/support/peers/knx-gateway-peer.ts';
import { startKnxd } from '../../../test/support/peers/knxd.ts';
import { runOp } from '../../../test/support/peers/run-op.ts';
import { systemClock } from '../../kernel/clock.ts';
import type { Connection, EntityBinding } from '../provider.ts';
import { connectKnx, knx } from './knx.provider.ts';
import type { TunnelTiming } from './knx-tunnel.ts';

/** Bus and acknowledgements have as long as in production: a busy machine needs it too. */
const timing: TunnelTiming = {
  connectWithinMs: 3_000,
  ackWithinMs: 1_000,
  confirmWithinMs: 3_000,
  heartbeatEveryMs: 3_600_000,
  heartbeatWithinMs: 3_000,
  paceMs: 25,
  retryFromMs: 100,
  silentForMs: 3_600_000,
};
/** For a gateway that is told to lose what is waited for. */
const lossy = { ackWithinMs: 500, confirmWithinMs: 1_000 };
const plain = entityOf({ entityId: 'plain', externalId: '2/1/1' });
const seen = entityOf({
  entityId: 'seen',
  externalId: '2/1/1',
  metadata: { status_address: '2/1/2' },
});
const inverted = entityOf({
  entityId: 'inverted',
  externalId: '2/1/3',
  metadata: { status_address: '2/1/4', invert: 'true' },
});

const openThings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of openThings.splice(0).reverse()) await close();
});

function connectTo(port: number, times: Partial<TunnelTiming> = {}) {
  const bench = connectProvider(
    { connect: (link, context) => connectKnx(link, context, { ...timing, ...times }) },
    { config: { host: '127.0.0.1', port, local_ip: '127.0.0.1' } },
  );
  const { connection } = bench;
  openThings.push(() => connection.close());
  return {
    ...bench,
    open: (entity: EntityBinding) => connection.actions.open?.(commandTo(entity)),
    close: (entity: EntityBinding) => connection.actions.close?.(commandTo(entity)),
    isUp: () => eventually(() => connection.health() === 'ok'),
  };
}

async function gatewayWith(times: Partial<TunnelTiming> = {}) {
  const gateway = await startGatewayPeer();
  openThings.push(() => gateway.stop());
  return { gateway, ...connectTo(gateway.port, times) };
}

async function knxd(options: Parameters<typeof startKnxd>[0] = {}) {
  const peer = await startKnxd(options);
  openThings.push(() => peer.stop());
  return peer;
}

const writesTo = (telegrams: readonly string[], group: string): string[] =>
  telegrams.filter((line) => line.startsWith('Write') && line.includes(` to ${group}:`));

describe('knxd', () => {
  it('puts open and close on the bus', async () => {
    const peer = await knxd();
    const { open, close } = connectTo(peer.port);
    expect(await open(plain)).toEqual({ kind: 'delivered', observed: null });
    expect(await close(plain)).toEqual({ kind: 'delivered', observed: null });
    await eventually(() => writesTo(peer.telegrams(), '2/1/1').length === 2);
    const values = writesTo(peer.telegrams(), '2/1/1').map((line) => line.split(': ')[1]?.trim());
    expect(values).toEqual(['01', '00']);
  });

  it('carries what actuators report, by themselves and when they are asked', async () => {
    const peer = await knxd();
    const { connection, reported, isUp, open } = connectTo(peer.port);
    connection.bind([seen, inverted]);
    await isUp();
    await eventually(() =>
      peer.telegrams().some((line) => line.startsWith('Read') && line.includes('2/1/2')),
    );
    const answered = reported('seen', 'closed');
    await peer.respond('2/1/2', 0);
    await answered;
    const written = reported('inverted', 'open');
    await peer.write('2/1/4', 0);
    await written;

    const opening = open(seen);
    await eventually(() => writesTo(peer.telegrams(), '2/1/1').length === 1);
    await peer.write('2/1/2', 1);
    expect(await opening).toEqual({ kind: 'delivered', observed: 'open' });
  });

  it('is reached again after it was killed', async () => {
    const first = await knxd();
    const { open, isUp, connection } = connectTo(first.port, { silentForMs: 0 });
    await isUp();
    await first.stop();
    expect((await open(plain))?.kind).toBe('not_sent');
    await eventually(() => connection.health() === 'error');
    expect((await open(plain))?.kind).toBe('not_sent');

    const second = await knxd({ port: first.port });
    await isUp();
    expect(await open(plain)).toEqual({ kind: 'delivered', observed: null });
    await eventually(() => writesTo(second.telegrams(), '2/1/1').length === 1);
  });

  it('has its slot back after close', async () => {
    // One for the listening tool, one for the tool that speaks, one for us.
    const peer = await knxd({ tunnels: 3 });
    for (let round = 0; round < 4; round += 1) {
      const { connection, open } = connectTo(peer.port);
      expect(await open(plain)).toEqual({ kind: 'delivered', observed: null });
      await connection.close();
    }
  });
});

describe('a telegram', () => {
  it('is delivered with what the status object reports', async () => {
    const { gateway, connection, open, close } = await gatewayWith();
    gateway.statusOf(0x11_01, 0x11_02);
    gateway.statusOf(0x11_03, 0x11_04);
    connection.bind([seen, inverted]);
    expect(await open(seen)).toEqual({ kind: 'delivered', observed: 'open' });
    expect(await close(seen)).toEqual({ kind: 'delivered', observed: 'closed' });
    expect(await open(inverted)).toEqual({ kind: 'delivered', observed: 'open' });
    expect(gateway.bus.filter((line) => line.startsWith('write'))).toEqual([
      'write 1101 1',
      'write 1101 0',
      'write 1103 0',
    ]);
  });

  it('is delivered without a proof when the status object is silent, which is asked once', async () => {
    const { gateway, connection, open, isUp } = await gatewayWith();
    await isUp();
    connection.bind([seen]);
    await eventually(() => gateway.bus.length === 1);
    expect(await open(seen)).toEqual({ kind: 'delivered', observed: null });
    expect(gateway.bus).toEqual(['read 1102', 'write 1101 1', 'read 1102']);
  });

  it('that the bus did not take was surely not sent', async () => {
    const { gateway, open } = await gatewayWith();
    gateway.fault('error_con');
    expect((await open(plain))?.kind).toBe('not_sent');
    expect(gateway.bus).toEqual([]);
    gateway.fault('none');
    expect(await open(plain)).toEqual({ kind: 'delivered', observed: null });
  });

  it.each(['lose_first_ack', 'lose_first_request'] as const)(
    'is repeated once with its number and moves the actuator once: %s',
    async (fault) => {
      const { gateway, open, close } = await gatewayWith(lossy);
      gateway.fault(fault);
      expect(await open(plain)).toEqual({ kind: 'delivered', observed: null });
      expect(await close(plain)).toEqual({ kind: 'delivered', observed: null });
      expect(gateway.bus).toEqual(['write 1101 1', 'write 1101 0']);
      const [first, second, third, fourth] = gateway.received.filter((bytes) => bytes.startsWith('06100420'));
      expect([second, fourth]).toEqual([first, third]);
    },
  );

  it('is unknown after the repeat, and never sent again', async () => {
    const { gateway, open, close, isUp } = await gatewayWith(lossy);
    await isUp();
    gateway.fault('lose_all');
    expect((await open(plain))?.kind).toBe('unknown');
    expect(gateway.bus).toEqual(['write 1101 1']);
    const sent = gateway.received.filter((bytes) => bytes.startsWith('06100420'));
    expect(sent).toEqual([sent[0], sent[0]]);

    gateway.fault('none');
    await isUp();
    expect(await close(plain)).toEqual({ kind: 'delivered', observed: null });
    expect(gateway.bus).toEqual(['write 1101 1', 'write 1101 0']);
  });

  it('is unknown without a confirmation of the bus', async () => {
    const { gateway, open, isUp } = await gatewayWith(lossy);
    gateway.fault('lose_con');
    expect((await open(plain))?.kind).toBe('unknown');
    expect(gateway.bus).toEqual(['write 1101 1']);
    gateway.fault('none');
    await eventually(() => gateway.channels() === 1);
    await isUp();
    expect((await open(plain))?.kind).toBe('delivered');
  });

  it('does not leave after the deadline, nor when the caller has given up', async () => {
    const { gateway, connection, isUp } = await gatewayWith();
    await isUp();
    expect((await connection.actions.open?.(commandTo(plain, { withinMs: -1 })))?.kind).toBe('not_sent');
    const gone = { ...commandTo(plain), signal: AbortSignal.abort() };
    expect((await connection.actions.open?.(gone))?.kind).toBe('not_sent');
    expect(gateway.bus).toEqual([]);
  });

  it('is not repeated after the deadline', async () => {
    const { gateway, connection, isUp } = await gatewayWith({ ackWithinMs: 2_000 });
    await isUp();
    gateway.fault('lose_all');
    expect((await connection.actions.open?.(commandTo(plain, { withinMs: 1_500 })))?.kind).toBe('unknown');
    expect(gateway.received.filter((bytes) => bytes.startsWith('06100420'))).toHaveLength(1);
  });

  it('to something that is no group address does not leave', async () => {
    const { gateway, open } = await gatewayWith();
    expect((await open(entityOf({ externalId: 'door' })))?.kind).toBe('not_sent');
    expect(gateway.bus).toEqual([]);
  });

  it('keeps its number through more than 256 of them', async () => {
    const { gateway, open } = await gatewayWith({ paceMs: 0 });
    for (let round = 0; round < 300; round += 1) expect((await open(plain))?.kind).toBe('delivered');
    expect(gateway.bus).toHaveLength(300);
    await eventually(() => gateway.unacknowledged() === 0);
  });

  it('keeps its distance from the one before', async () => {
    const { gateway, open } = await gatewayWith({ paceMs: 100 });
    await open(plain);
    const begun = systemClock.monotonicMs();
    await Promise.all([open(plain), open(plain), open(plain)]);
    // Two gaps: the first of the three may be far from the one before already. A timer may be a little early.
    expect(systemClock.monotonicMs() - begun).toBeGreaterThanOrEqual(2 * 100 - 10);
    expect(gateway.bus).toHaveLength(4);
  });
});

describe('a tunnel', () => {
  it('that the gateway does not give is an error and sends nothing', async () => {
    const gateway = await startGatewayPeer();
    openThings.push(() => gateway.stop());
    gateway.refuseConnections(0x24);
    const { open, connection, isUp } = connectTo(gateway.port);
    expect(connection.health()).toBe('reduced');
    expect((await open(plain))?.kind).toBe('not_sent');
    expect(connection.health()).toBe('error');
    gateway.refuseConnections(null);
    await isUp();
    expect(gateway.bus).toEqual([]);
    expect((await open(plain))?.kind).toBe('delivered');
  });

  it('takes repeats of the gateway once and acknowledges them', async () => {
    const { gateway, connection, reports, isUp } = await gatewayWith();
    connection.bind([seen]);
    await isUp();
    gateway.fault('repeat_own');
    gateway.say(0x11_02, 'write', true);
    gateway.say(0x11_02, 'write', false);
    await eventually(() => reports().length === 2 && gateway.unacknowledged() === 0);
    expect(reports()).toEqual(['seen open', 'seen closed']);
  });

  it('that the gateway ends comes back', async () => {
    const { gateway, isUp, open, connection } = await gatewayWith();
    await isUp();
    gateway.endTunnels();
    await eventually(() => connection.health() !== 'ok');
    await isUp();
    expect((await open(plain))?.kind).toBe('delivered');
  });

  it('that the gateway has forgotten is found by the heartbeat', async () => {
    const { gateway, isUp } = await gatewayWith({ heartbeatEveryMs: 50 });
    await isUp();
    gateway.forgetTunnels();
    await eventually(() => gateway.channels() === 1);
    await isUp();
  });

  it('that was silent is asked for before a command, which then was surely not sent', async () => {
    const { gateway, isUp, open } = await gatewayWith({ silentForMs: 0 });
    await isUp();
    gateway.forgetTunnels();
    expect((await open(plain))?.kind).toBe('not_sent');
    expect(gateway.received.some((bytes) => bytes.startsWith('06100420'))).toBe(false);
    await eventually(() => gateway.channels() === 1);
    await isUp();
    expect((await open(plain))?.kind).toBe('delivered');
  });

  it('out of sight makes states unknown, and reads them when it is back', async () => {
    const { gateway, connection, reports, isUp, open } = await gatewayWith();
    gateway.statusOf(0x11_01, 0x11_02);
    connection.bind([seen]);
    await isUp();
    await open(seen);
    gateway.refuseConnections(0x24);
    gateway.endTunnels();
    await eventually(() => reports().includes('seen unknown'));
    gateway.refuseConnections(null);
    await eventually(() => reports().length === 3);
    expect(reports()).toEqual(['seen open', 'seen unknown', 'seen open']);
    expect(gateway.bus.filter((line) => line.startsWith('write'))).toHaveLength(1);
  });

  it('is given back at close, and nothing is sent any more', async () => {
    const { gateway, connection, isUp, open } = await gatewayWith();
    await isUp();
    await connection.close();
    expect(gateway.channels()).toBe(0);
    expect((await open(plain))?.kind).toBe('not_sent');
    expect(gateway.bus).toEqual([]);
  });
});

describe('the manifest', () => {
  it('leaves the end of a pulse to the service, because the bus has none', () => {
    expect(knx.manifest.pulseBy).toBe('server');
    expect(knx.manifest.defaultPulseSeconds({}, 'door')).toBeNull();
  });
});

describe('its ops', () => {
  const read = (connection: Connection, group_address: string) =>
    runOp(connection, 'group.read', { group_address });

  it('read a group address from whoever answers on the bus', async () => {
    const peer = await knxd();
    const { connection, isUp } = connectTo(peer.port);
    await isUp();
    expect(await runOp(connection, 'connection.test')).toMatchObject({ result: { health: 'ok' } });
    const reading = read(connection, '3/2/1');
    await eventually(() =>
      peer.telegrams().some((line) => line.startsWith('Read') && line.includes('3/2/1')),
    );
    await peer.respond('3/2/2', 0);
    await peer.respond('3/2/1', 1);
    expect(await reading).toEqual({ kind: 'done', result: { group_address: '3/2/1', value: true } });
    expect(writesTo(peer.telegrams(), '3/2/1')).toEqual([]);
  });

  it('tell that nobody answers, and that there is no tunnel', async () => {
    const { connection, isUp } = await gatewayWith();
    await isUp();
    expect(await read(connection, '3/2/1')).toMatchObject({ kind: 'unknown' });
    expect(await read(connection, '0/0/0')).toMatchObject({ kind: 'not_sent' });
    const away = connectTo(9).connection;
    expect(await runOp(away, 'group.read', { group_address: '3/2/1' }, 1_500)).toMatchObject({
      kind: 'not_sent',
    });
    expect(await runOp(away, 'connection.test')).toMatchObject({ result: { health: 'error' } });
  });
});
