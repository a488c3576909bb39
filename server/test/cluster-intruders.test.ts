import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createBusCipher } from '../src/cluster/bus-cipher.ts';
import { clusterKey, createSigning, type Seal } from '../src/cluster/signing.ts';
import { Secret } from '../src/kernel/secret.ts';
import { providerDefinitions } from '../src/providers/registry.ts';
import { dialInUrl } from '../src/providers/transport/dial-in.ts';
import { ledgerProvider, readLedger } from './support/ledger-provider.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { makeTestDir } from './support/test-cluster.ts';
import { type BuildingIds, rootAdminId, testPepper, testPublicUrl } from './support/test-world.ts';

describe('the entrance for other nodes', () => {
  const ledger = join(makeTestDir(), 'ledger.jsonl');
  let node: TestApp;
  let orgId: string;
  let door: BuildingIds;
  let lease: { node_id: string; epoch: number; now: number };
  let now: number;

  beforeAll(async () => {
    node = await startTestApp({
      providerDefinitions: new Map([
        ...providerDefinitions,
        ['virtual_demo', ledgerProvider(ledger, 'only')],
      ]),
    });
    orgId = await node.world.org();
    await node.world.grant(orgId, rootAdminId, 'admin');
    door = await node.world.building(orgId);
    const { token } = await node.world.key(orgId, rootAdminId);
    const path = `/entities/${door.entityId}/actions/open`;
    expect((await node.request('POST', path, { token, org: orgId, body: {} })).status).toBe(200);
  });
  afterAll(() => node.close());
  beforeEach(async () => {
    lease = await leaseOf(door.integrationId);
    now = lease.now;
  });

  async function leaseOf(integrationId: string) {
    const text = `select node_id, epoch::int, extract(epoch from clock_timestamp())::float8 * 1000 as now
      from connection_leases where integration_id = $1`;
    const [row] = await node.db.query<{ node_id: string; epoch: number; now: number }>(text, [integrationId]);
    if (row === undefined) throw new Error('nobody holds the lease');
    return row;
  }

  const place = () => ({ nodeId: lease.node_id, method: 'POST', path: '/internal/dispatch' });
  const signing = () => createSigning(clusterKey(testPepper, null), () => now);
  const commands = () => readLedger(ledger).filter(({ event }) => event === 'command').length;
  const command = (changes: object = {}) =>
    JSON.stringify({
      orgId,
      integrationId: door.integrationId,
      providerType: 'virtual_demo',
      config: {},
      epoch: lease.epoch,
      notAfterMs: now + 5_000,
      verb: 'open',
      intentId: 'asked by another node',
      entity: {
        entityId: door.entityId,
        entityType: 'door',
        externalId: null,
        metadata: {},
        deviceId: door.deviceId,
        deviceExternalId: null,
        deviceMetadata: {},
      },
      pulseSeconds: null,
      ...changes,
    });

  const headersOf = (seal: Seal) => ({
    'content-type': 'application/json',
    'x-node-time': seal.time,
    'x-node-nonce': seal.nonce,
    'x-node-signature': seal.signature,
  });

  async function send(body: string, seal: Seal) {
    const headers = headersOf(seal);
    const url = '/internal/dispatch';
    const answer = await node.app.http.inject({ method: 'POST', url, headers, payload: body });
    const signature = String(answer.headers['x-node-signature'] ?? '');
    const isSigned = signing().isAnswer(seal.nonce, answer.body, signature);
    return { status: answer.statusCode, kind: answer.json<{ kind?: string }>().kind, isSigned };
  }

  it('takes a command that is sealed as by a node, once, and signs the answer', async () => {
    const before = commands();
    const body = command();
    const seal = signing().seal(place(), body);
    expect(await send(body, seal)).toEqual({ status: 200, kind: 'delivered', isSigned: true });
    expect(await send(body, seal)).toMatchObject({ status: 401, isSigned: false });
    expect(commands()).toBe(before + 1);
  });

  it.each<[string, () => [string, Seal]]>([
    ['no seal', () => [command(), { time: '', nonce: '', signature: '' }]],
    [
      'a made-up seal',
      () => [command(), { ...signing().seal(place(), command()), signature: 'A'.repeat(43) }],
    ],
    ['a seal for another body', () => [command(), signing().seal(place(), command({ verb: 'close' }))]],
    ['a seal for another node', () => [command(), signing().seal({ ...place(), nodeId: 'X' }, command())]],
    [
      'a seal with another secret',
      () => [command(), createSigning(clusterKey(new Secret('x'), null), () => now).seal(place(), command())],
    ],
    [
      'an old seal',
      () => [
        command(),
        createSigning(clusterKey(testPepper, null), () => now - 31_000).seal(place(), command()),
      ],
    ],
  ])('refuses a command with %s', async (_what, make) => {
    const before = commands();
    expect((await send(...make())).status).toBe(401);
    expect(commands()).toBe(before);
  });

  it.each([
    ['of an earlier lease', () => ({ epoch: lease.epoch - 1 }), 'moved'],
    ['of a later lease', () => ({ epoch: lease.epoch + 1 }), 'moved'],
    ['whose time has passed', () => ({ notAfterMs: now - 1 }), 'not_sent'],
    ['it can not read', () => ({ verb: 'explode' }), 'moved'],
  ])('sends nothing for a command %s', async (_what, changes, kind) => {
    const before = commands();
    const body = command(changes());
    expect(await send(body, signing().seal(place(), body))).toEqual({ status: 200, kind, isSigned: true });
    expect(commands()).toBe(before);
  });

  it('answers an op so that nobody between the nodes reads what is secret in it', async () => {
    const shelly = await node.world.building(orgId);
    await node.db.query(`update integrations set provider_type = 'shelly_websocket' where id = $1`, [
      shelly.integrationId,
    ]);
    const { token } = await node.world.key(orgId, rootAdminId);
    const path = `/integrations/${shelly.integrationId}/ops/connection.test`;
    expect((await node.request('POST', path, { token, org: orgId, body: {} })).status).toBe(200);
    const { epoch, node_id: nodeId } = await leaseOf(shelly.integrationId);
    const cipher = createBusCipher(clusterKey(testPepper, null));
    const { integrationId } = shelly;
    const request = { orgId, integrationId, providerType: 'shelly_websocket', config: {}, epoch };
    const op = cipher.lock(JSON.stringify({ id: 'dial_in.url', input: {} }));
    const body = JSON.stringify({ ...request, notAfterMs: now + 5_000, op });
    const seal = signing().seal({ ...place(), nodeId }, body);
    const answer = await node.app.http.inject({
      method: 'POST',
      url: '/internal/dispatch',
      headers: headersOf(seal),
      payload: body,
    });
    const { kind, answer: locked = '' } = answer.json<{ kind: string; answer?: string }>();
    expect(kind).toBe('op');
    const url = dialInUrl(testPublicUrl, testPepper, integrationId);
    expect(answer.body).not.toContain(url.slice(-43));
    expect(JSON.parse(cipher.unlock(locked) ?? '')).toMatchObject({ kind: 'done', result: { url } });
    const stale = JSON.stringify({ ...request, epoch: epoch + 1, notAfterMs: now + 5_000, op });
    expect(await send(stale, signing().seal({ ...place(), nodeId }, stale))).toMatchObject({ kind: 'moved' });
    const unlocked = JSON.stringify({ ...request, notAfterMs: now + 5_000, op: 'dial_in.url' });
    expect(await send(unlocked, signing().seal({ ...place(), nodeId }, unlocked))).toMatchObject({
      kind: 'moved',
    });
  });
});
