import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type MqttClient } from 'mqtt';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  type ConnectedProvider,
  commandTo,
  connectProvider,
  entityOf,
} from '../../../test/support/connected-provider.ts';
import { soon } from '../../../test/support/eventually.ts';
import { type Mosquitto, startMosquitto } from '../../../test/support/peers/mosquitto.ts';
import { runOp } from '../../../test/support/peers/run-op.ts';
import { startTcpCut } from '../../../test/support/peers/tcp-cut.ts';
import { mqtt } from './mqtt.provider.ts';

const acl = 'topic readwrite door/#\ntopic read forbidden/#\n';
let broker: Mosquitto;
const opened: ConnectedProvider[] = [];

beforeAll(async () => {
  broker = await startMosquitto({ lines: ['acl_file {dir}/acl'], files: { acl } });
});
afterAll(() => broker.close());
afterEach(async () => {
  await Promise.all(opened.splice(0).map(({ connection }) => connection.close()));
});

async function connected(
  entities: readonly ReturnType<typeof door>[],
  config: Record<string, unknown> = {},
): Promise<ConnectedProvider> {
  const provider = connectProvider(mqtt, {
    config: { broker_host: '127.0.0.1', broker_port: broker.port, ...config },
  });
  opened.push(provider);
  provider.connection.bind(entities);
  await vi.waitFor(() => expect(provider.connection.health()).not.toBe('error'), soon);
  return provider;
}

/** Any command comes back only when the link has ended its search for retained ones. */
async function settled({ connection }: ConnectedProvider): Promise<void> {
  const nowhere = entityOf({ metadata: { command_topic: 'door/nowhere' } });
  expect((await connection.actions.open?.(commandTo(nowhere)))?.kind).toMatch(/^(not_sent|delivered)$/);
}

let counter = 0;
function door(metadata: Record<string, string> = {}) {
  counter += 1;
  const command_topic = `door/${counter}/set`;
  return entityOf({ metadata: { command_topic, state_topic: `door/${counter}/state`, ...metadata } });
}

/** A device that notes what it hears and, if told to, reports the state it takes. */
async function device(
  { metadata }: ReturnType<typeof door>,
  answer: ((payload: string) => string | null) | null = (payload) => payload,
): Promise<{ heard: string[]; retained: boolean[]; client: MqttClient }> {
  const client = await broker.client({ protocolVersion: 4 });
  const [heard, retained]: [string[], boolean[]] = [[], []];
  client.on('message', (_topic, payload, packet) => {
    heard.push(payload.toString());
    retained.push(packet.retain);
    const state = answer?.(payload.toString()) ?? null;
    if (state !== null) client.publish(metadata.state_topic ?? '', state);
  });
  await client.subscribeAsync(metadata.command_topic ?? '', { qos: 1 });
  return { heard, retained, client };
}

describe.each([5, 4])('protocol version %i', (protocol_version) => {
  it('open, close and toggle reach the device, and its own report is the proof', async () => {
    const entity = door({ toggle_payload: 'FLIP' });
    const far = await device(entity, (payload) => (payload === 'FLIP' ? 'ON' : payload));
    const { connection, states } = await connected([entity], { protocol_version });
    expect(await connection.actions.open?.(commandTo(entity))).toEqual({
      kind: 'delivered',
      observed: 'open',
    });
    expect(await connection.actions.close?.(commandTo(entity))).toEqual({
      kind: 'delivered',
      observed: 'closed',
    });
    expect(await connection.actions.toggle?.(commandTo(entity))).toEqual({
      kind: 'delivered',
      observed: 'open',
    });
    expect(far.heard).toEqual(['ON', 'OFF', 'FLIP']);
    expect(far.retained).toEqual([false, false, false]);
    expect(states.map(({ status }) => status)).toEqual(['open', 'closed', 'open']);
    expect(connection.health()).toBe('ok');
  });

  it('without a state topic the acknowledgement of the broker is all there can be', async () => {
    const entity = entityOf({ metadata: { command_topic: `door/silent${protocol_version}` } });
    const far = await device(entity, null);
    const { connection } = await connected([entity], { protocol_version });
    expect(await connection.actions.open?.(commandTo(entity))).toEqual({ kind: 'delivered', observed: null });
    await vi.waitFor(() => expect(far.heard).toEqual(['ON']), soon);
  });

  it('a device that does not report, or reports another state, leaves the outcome unknown', async () => {
    const [silent, stubborn] = [door(), door()];
    const far = [await device(silent, null), await device(stubborn, () => 'OFF')];
    const provider = await connected([silent, stubborn], { protocol_version });
    await settled(provider);
    for (const entity of [silent, stubborn]) {
      const delivery = await provider.connection.actions.open?.(commandTo(entity, { withinMs: 800 }));
      expect(delivery?.kind).toBe('unknown');
    }
    await vi.waitFor(() => expect(far.map(({ heard }) => heard)).toEqual([['ON'], ['ON']]), soon);
  });

  it('our own command on a shared topic is no proof', async () => {
    const topic = `door/loop${protocol_version}`;
    const entity = door({ command_topic: topic, state_topic: topic });
    const { connection, states } = await connected([entity], { protocol_version });
    await connection.actions.open?.(commandTo(entity, { withinMs: 800 }));
    expect(states).toEqual([]);
  });
});

describe('with version 5', () => {
  it('a command nobody listens to is not sent, although the topic was searched for retained ones', async () => {
    const entity = door();
    const { connection } = await connected([entity]);
    const delivery = await connection.actions.open?.(commandTo(entity));
    expect(delivery).toEqual({ kind: 'not_sent', reason: 'no device listens to the command topic' });
  });

  it('a command the broker forbids is refused', async () => {
    const entity = door({ command_topic: 'forbidden/set' });
    const { connection } = await connected([entity]);
    expect(await connection.actions.open?.(commandTo(entity))).toEqual({
      kind: 'refused',
      reason: 'the broker refused the command (0x87)',
    });
  });

  it('a command expires: a device that was away does not hear it when it comes back', async () => {
    const entity = entityOf({ metadata: { command_topic: 'door/away' } });
    const session = { clientId: 'away', clean: false, protocolVersion: 4 } as const;
    const away = await broker.client(session);
    await away.subscribeAsync('door/away', { qos: 1 });
    await away.endAsync();
    const provider = await connected([entity]);
    await settled(provider);
    const delivery = await provider.connection.actions.open?.(commandTo(entity, { withinMs: 1500 }));
    expect(delivery?.kind).toBe('delivered');
    await delay(2200);
    const heard: string[] = [];
    const back = connect({ ...session, host: '127.0.0.1', port: broker.port });
    back.on('message', (topic) => void heard.push(topic));
    await back.subscribeAsync('door/end', { qos: 1 });
    await back.publishAsync('door/end', 'x', { qos: 1 });
    await vi.waitFor(() => expect(heard).toContain('door/end'), soon);
    expect(heard).not.toContain('door/away');
    await back.endAsync();
  });
});

describe('when the wire fails', () => {
  it('a lost acknowledgement is unknown, and the command is never repeated', async () => {
    const entity = door();
    const far = await device(entity);
    const cut = await startTcpCut(broker.port);
    const provider = await connected([entity], { broker_port: cut.port });
    await settled(provider);
    const { connection } = provider;
    cut.cut('replies');
    const delivery = await connection.actions.open?.(commandTo(entity, { withinMs: 700 }));
    expect(delivery).toEqual({ kind: 'unknown', reason: 'the broker did not acknowledge' });
    cut.cut('none');
    await vi.waitFor(() => expect(connection.health()).toBe('ok'), soon);
    await connection.actions.close?.(commandTo(entity));
    expect(far.heard).toEqual(['ON', 'OFF']);
    await connection.close();
    await vi.waitFor(() => expect(cut.connections()).toBe(0), soon);
    await cut.close();
  });

  it('a command swallowed on its way does not come out later', async () => {
    const entity = door();
    const far = await device(entity);
    const cut = await startTcpCut(broker.port);
    const provider = await connected([entity], { broker_port: cut.port, protocol_version: 4 });
    await settled(provider);
    const { connection } = provider;
    cut.cut('requests');
    expect((await connection.actions.open?.(commandTo(entity, { withinMs: 500 })))?.kind).toBe('unknown');
    cut.cut('none');
    await vi.waitFor(() => expect(connection.health()).toBe('ok'), soon);
    await connection.actions.close?.(commandTo(entity));
    expect(far.heard).toEqual(['OFF']);
    await connection.close();
    await cut.close();
  });

  it('a broker that is down gets nothing; when it is back the same connection works, and sends nothing by itself', async () => {
    const own = await startMosquitto();
    const entity = door();
    const { connection, logged } = await connected([entity], { broker_port: own.port });
    await own.kill();
    await vi.waitFor(() => expect(connection.health()).toBe('error'), soon);
    expect(await connection.actions.open?.(commandTo(entity))).toEqual({
      kind: 'not_sent',
      reason: 'there is no connection to the broker',
    });
    await own.start();
    const heard: string[] = [];
    const far = await own.client({ protocolVersion: 4 });
    far.on('message', (_topic, payload) => {
      heard.push(payload.toString());
      far.publish(entity.metadata.state_topic ?? '', payload);
    });
    await far.subscribeAsync(entity.metadata.command_topic ?? '');
    await vi.waitFor(() => expect(connection.health()).toBe('ok'), soon);
    expect(heard).toEqual([]);
    expect(await connection.actions.close?.(commandTo(entity))).toEqual({
      kind: 'delivered',
      observed: 'closed',
    });
    expect(heard).toEqual(['OFF']);
    expect(logged().match(/no connection to the broker/g)).toHaveLength(1);
    await connection.close();
    await own.close();
  });

  it('a command past its deadline is not sent', async () => {
    const entity = door();
    const far = await device(entity);
    const { connection } = await connected([entity]);
    const delivery = await connection.actions.open?.(commandTo(entity, { withinMs: -1 }));
    expect(delivery).toEqual({ kind: 'not_sent', reason: 'the deadline has passed' });
    await connection.actions.close?.(commandTo(entity));
    expect(far.heard).toEqual(['OFF']);
  });
});

describe('what the broker keeps', () => {
  it('a retained state is a state, but never the proof of a command', async () => {
    const entity = door();
    const far = await broker.client();
    await far.publishAsync(entity.metadata.state_topic ?? '', 'ON', { retain: true, qos: 1 });
    await device(entity, null);
    const provider = await connected([entity]);
    const { connection, states } = provider;
    await vi.waitFor(() => expect(states).toEqual([{ entityId: entity.entityId, status: 'open' }]), soon);
    await settled(provider);
    expect((await connection.actions.open?.(commandTo(entity, { withinMs: 600 })))?.kind).toBe('unknown');
  });

  it('an unreadable state is unknown, and a state of its own words is understood', async () => {
    const entity = door({ state_open: 'unlocked', state_closed: 'locked' });
    const { states } = await connected([entity]);
    await delay(100);
    const far = await broker.client();
    for (const text of ['unlocked', 'moving', 'locked'])
      await far.publishAsync(entity.metadata.state_topic ?? '', text);
    await vi.waitFor(
      () => expect(states.map(({ status }) => status)).toEqual(['open', 'unknown', 'closed']),
      soon,
    );
  });

  it('a retained command reduces the health and is logged; ours leave nothing behind', async () => {
    const [haunted, clean] = [door(), door()];
    const far = await broker.client();
    await far.publishAsync(haunted.metadata.command_topic ?? '', 'ON', { retain: true, qos: 1 });
    const { connection, logged } = await connected([haunted]);
    await vi.waitFor(() => expect(connection.health()).toBe('reduced'), soon);
    expect(logged()).toContain(haunted.metadata.command_topic);
    await device(clean);
    await connection.actions.open?.(commandTo(clean, { withinMs: 800 }));
    const kept: string[] = [];
    far.on('message', (topic) => void kept.push(topic));
    await far.subscribeAsync('door/#');
    await delay(200);
    expect(kept).not.toContain(clean.metadata.command_topic);
    await far.publishAsync(haunted.metadata.command_topic ?? '', '', { retain: true });
  });
});

describe('who is there', () => {
  it('signs in with its user name and password, and never shows them', async () => {
    const own = await startMosquitto({
      lines: ['acl_file {dir}/acl'],
      files: { acl: 'user lintel-user\ntopic readwrite #\n' },
    });
    const entity = entityOf({ metadata: { command_topic: 'door/x' } });
    const signIn = (username: string) => {
      const config = { broker_host: '127.0.0.1', broker_port: own.port };
      const provider = connectProvider(mqtt, { config, secrets: { username, password: 'correct horse' } });
      opened.push(provider);
      return provider;
    };
    const [right, wrong] = [signIn('lintel-user'), signIn('stranger')];
    for (const { connection } of [right, wrong])
      await vi.waitFor(() => expect(connection.health()).toBe('ok'), soon);
    expect((await right.connection.actions.open?.(commandTo(entity)))?.kind).toBe('not_sent');
    expect((await wrong.connection.actions.open?.(commandTo(entity)))?.kind).toBe('refused');
    for (const { connection, logged } of [right, wrong]) {
      await connection.close();
      await connection.close();
      expect(connection.health()).toBe('error');
      expect(logged()).not.toContain('correct horse');
    }
    await own.close();
  });

  it('a login the broker refuses is an error of health, and nothing is sent', async () => {
    const own = await startMosquitto({ lines: ['allow_anonymous false'] });
    const entity = door();
    const config = { broker_host: '127.0.0.1', broker_port: own.port };
    const provider = connectProvider(mqtt, { config, secrets: { username: 'u', password: 'correct horse' } });
    opened.push(provider);
    await vi.waitFor(() => expect(provider.logged()).toMatch(/no connection to the broker/), soon);
    expect(provider.connection.health()).toBe('error');
    expect((await provider.connection.actions.open?.(commandTo(entity)))?.kind).toBe('not_sent');
    expect(provider.logged()).not.toContain('correct horse');
    await own.close();
  });

  it('speaks TLS to a broker whose authority it was given, and to no other', async () => {
    const { key, certificate } = selfSigned();
    const own = await startMosquitto({
      lines: ['certfile {dir}/cert.pem', 'keyfile {dir}/key.pem'],
      files: { 'cert.pem': certificate, 'key.pem': key },
    });
    const config = { broker_host: '127.0.0.1', broker_port: own.port, tls: true };
    const trusting = connectProvider(mqtt, { config: { ...config, ca_certificate: certificate } });
    const doubting = connectProvider(mqtt, { config });
    opened.push(trusting, doubting);
    await vi.waitFor(() => expect(trusting.connection.health()).toBe('ok'), soon);
    await vi.waitFor(() => expect(doubting.logged()).toMatch(/no connection to the broker/), soon);
    expect(doubting.connection.health()).toBe('error');
    const delivery = await trusting.connection.actions.open?.(commandTo(door()));
    expect(delivery?.kind).toBe('not_sent');
    await own.kill();
    await vi.waitFor(() => expect(trusting.connection.health()).toBe('error'), soon);
    await own.start();
    await vi.waitFor(() => expect(trusting.connection.health()).toBe('ok'), soon);
    await Promise.all([trusting.connection.close(), doubting.connection.close()]);
    await own.close();
  });
});

function selfSigned(): { key: string; certificate: string } {
  const dir = mkdtempSync(join(tmpdir(), 'lintel-certificate-'));
  const [keyout, out] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'];
  execFileSync('openssl', ['req', ...kind, ...subject, '-keyout', keyout, '-out', out], { stdio: 'ignore' });
  const files = { key: readFileSync(keyout, 'utf8'), certificate: readFileSync(out, 'utf8') };
  rmSync(dir, { recursive: true });
  return files;
}

describe('the test of the connection', () => {
  it('says whether the broker is there', async () => {
    const { connection } = await connected([door()]);
    await vi.waitFor(
      async () =>
        expect(await runOp(connection, 'connection.test')).toMatchObject({ result: { health: 'ok' } }),
      soon,
    );
    const away = connectProvider(mqtt, { config: { broker_host: '127.0.0.1', broker_port: 9 } });
    opened.push(away);
    expect(await runOp(away.connection, 'connection.test')).toEqual({
      kind: 'done',
      result: { health: 'error', message: 'there is no connection to the broker' },
    });
  });
});
