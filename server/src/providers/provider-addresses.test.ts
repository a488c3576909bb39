import { createSocket } from 'node:dgram';
import dns from 'node:dns';
import { once } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { systemClock } from '../kernel/clock.ts';
import { createLogger } from '../kernel/logger.ts';
import { Secret } from '../kernel/secret.ts';
import { blueprint } from './_blueprint/blueprint.provider.ts';
import type { ProviderDefinition } from './provider.ts';
import { providerDefinitions } from './registry.ts';

// A name can lead to one address when it is written and to another when it is dialled, so what counts is the dialling
// (docs/decisions/0015). Both names lead to the canary first; a socket that asked nobody would reach it.
const places: Readonly<Record<string, readonly string[]>> = {
  'good.test': ['127.0.0.1'],
  'turned.test': ['127.0.0.1', '169.254.169.254'],
};
const systemLookup = dns.lookup;

function namedLookup(...args: unknown[]): void {
  const [host, options, callback = options] = args as [string, unknown, unknown];
  const wantsAll = typeof options === 'object' && options !== null && Reflect.get(options, 'all') === true;
  const found = (places[host] ?? []).map((address) => ({ address, family: 4 }));
  if (found.length === 0) Reflect.apply(systemLookup, dns, args);
  else if (typeof callback === 'function')
    setImmediate(() => (wantsAll ? callback(null, found) : callback(null, found[0]?.address, 4)));
}

const everyProvider: readonly ProviderDefinition[] = [...providerDefinitions.values(), blueprint];
const addressed = everyProvider.flatMap(({ manifest, ...rest }) => {
  const definition = { manifest, ...rest };
  const settings = Object.keys(manifest.config.properties);
  const cases: [string, ProviderDefinition, (name: string, port: number) => Record<string, unknown>][] = [];
  if (settings.includes('host'))
    cases.push([`${manifest.type} by host`, definition, (host, port) => ({ host, port })]);
  if (settings.includes('broker_host'))
    cases.push([
      `${manifest.type} by broker`,
      definition,
      (name, port) => ({
        ...{ broker_host: name, broker_port: port, command_topic: 'c', reply_topic: 'r' },
        ...(settings.includes('transport')
          ? { transport: manifest.type === 'waveshare' ? 'rtu_mqtt' : 'mqtt' }
          : {}),
      }),
    ]);
  for (const setting of ['base_url', 'server_uri'])
    if (settings.includes(setting))
      cases.push([
        `${manifest.type} by ${setting}`,
        definition,
        (name, port) => ({
          [setting]: `http://${name}:${port}`,
          transport: 'http',
          phone: '15550001234',
          token_type: 'sms',
        }),
      ]);
  return cases;
});

/** Counts who comes, by TCP or with a datagram. */
async function startCanary() {
  let reached = 0;
  const count = (): void => {
    reached += 1;
  };
  const tcp = createServer((socket) => {
    count();
    socket.on('error', () => undefined).destroy();
  }).listen(0, '127.0.0.1');
  await once(tcp, 'listening');
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket('udp4').on('message', count).bind(port, '127.0.0.1');
  await once(udp, 'listening');
  const close = (): void => {
    udp.close();
    tcp.close();
  };
  return { port, reached: () => reached, close };
}

describe('a name that leads to the metadata of a cloud', () => {
  beforeAll(() => {
    Object.assign(dns, { lookup: namedLookup });
    syncBuiltinESMExports();
  });
  afterAll(() => {
    Object.assign(dns, { lookup: systemLookup });
    syncBuiltinESMExports();
  });

  async function tryIt(
    definition: ProviderDefinition,
    config: Record<string, unknown>,
    until: () => Promise<void>,
  ): Promise<void> {
    const names = Object.keys(definition.manifest.secrets.properties);
    const secrets = Object.fromEntries(names.map((name) => [name, new Secret('00'.repeat(16))]));
    const connection = definition.connect(
      { orgId: 'O', integrationId: 'I', config, secrets },
      {
        clock: systemClock,
        logger: createLogger({ level: 'silent' }),
        dataDir: '',
        onState: () => undefined,
      },
    );
    const entity = {
      ...{ entityId: 'e', entityType: 'door' as const, externalId: 'switch.door', deviceId: 'd' },
      metadata: { channel_index: '1', command_topic: 'door/set' },
      ...{ deviceExternalId: 'device', deviceMetadata: { topic: 'door' } },
    };
    connection.bind([entity]);
    const deadlineMs = systemClock.monotonicMs() + 1_000;
    const signal = AbortSignal.timeout(1_000);
    const sent = connection.actions.open?.({ intentId: 'i', entity, pulseSeconds: null, deadlineMs, signal });
    await until();
    await sent;
    await connection.close();
  }

  it.each(addressed)('is not followed by %s, which follows another', async (_, definition, configOf) => {
    const [good, turned] = [await startCanary(), await startCanary()];
    await tryIt(definition, configOf('good.test', good.port), () => eventually(() => good.reached() > 0));
    await tryIt(definition, configOf('turned.test', turned.port), () => delay(300));
    good.close();
    turned.close();
    expect(turned.reached()).toBe(0);
  });
});
