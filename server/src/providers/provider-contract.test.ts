import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formatsPlugin from 'ajv-formats';
import type { TObject } from 'typebox';
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../kernel/clock.ts';
import { createLogger } from '../kernel/logger.ts';
import { Secret } from '../kernel/secret.ts';
import { opOf, opsOf } from './ops.ts';
import type { Command, ProviderDefinition, Verb } from './provider.ts';
import { providerDefinitions } from './registry.ts';

/** What holds for every provider of the registry. A new one is covered by being registered. */
const providers = [...providerDefinitions];
const ajv = formatsPlugin.default(new Ajv2020({ strict: true, strictTypes: false }));
const dataDir = mkdtempSync(join(tmpdir(), 'lintel-providers-'));
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

/** Where nobody listens: the discard port of the loopback interface. */
const nowhere: Record<string, unknown> = {
  host: '127.0.0.1',
  port: 9,
  broker_host: '127.0.0.1',
  broker_port: 9,
  base_url: 'http://127.0.0.1:9',
  server_uri: 'http://127.0.0.1:9',
  phone: '15550001234',
  token_type: 1,
};

function configOf({ manifest }: ProviderDefinition): Record<string, unknown> {
  const known = Object.keys(manifest.config.properties);
  return Object.fromEntries(Object.entries(nowhere).filter(([name]) => known.includes(name)));
}

function secretsOf({ manifest }: ProviderDefinition): Record<string, Secret> {
  return Object.fromEntries(
    Object.keys(manifest.secrets.properties).map((name) => [name, new Secret('00'.repeat(16))]),
  );
}

function connect(definition: ProviderDefinition) {
  const link = {
    orgId: 'O',
    integrationId: 'I',
    config: configOf(definition),
    secrets: secretsOf(definition),
  };
  const logger = createLogger({ level: 'silent' });
  return definition.connect(link, { clock: systemClock, logger, dataDir, onState: () => undefined });
}

function command(deadlineInMs: number): Command {
  return {
    intentId: 'i',
    entity: {
      entityId: 'e',
      entityType: 'door',
      externalId: 'switch.door',
      metadata: { channel_index: '1', command_topic: 'door/cmnd' },
      deviceId: 'd',
      deviceExternalId: 'device',
      deviceMetadata: { topic: 'door' },
    },
    pulseSeconds: null,
    deadlineMs: systemClock.monotonicMs() + deadlineInMs,
    signal: new AbortController().signal,
  };
}

const isClosed = (schema: TObject): boolean => Reflect.get(schema, 'additionalProperties') === false;

describe.each(providers)('%s', (type, definition) => {
  const { manifest } = definition;

  it('describes itself', () => {
    expect(manifest.type).toBe(type);
    expect(manifest.label.en).toMatch(/\S/);
    expect(manifest.type).toMatch(/^[a-z][a-z0-9_]+$/);
    expect(isClosed(manifest.config), 'config is closed').toBe(true);
    expect(isClosed(manifest.secrets), 'secrets are closed').toBe(true);
    for (const schema of [
      manifest.config,
      manifest.secrets,
      manifest.deviceMetadata,
      manifest.entityMetadata,
    ]) {
      expect(() => ajv.compile(schema)).not.toThrow();
    }
  });

  it('keeps secrets out of the ordinary settings', () => {
    const settings = Object.keys(manifest.config.properties);
    expect(settings.filter((name) => name in manifest.secrets.properties)).toEqual([]);
    expect(settings.filter((name) => /password|secret|auth_key|^token$|token_hex/.test(name))).toEqual([]);
  });

  it('takes a minimum interval, as every integration does', () => {
    expect(Object.keys(manifest.config.properties)).toContain('min_interval_ms');
    expect(manifest.defaultMinIntervalMs).toBeGreaterThanOrEqual(0);
  });

  it('offers just the actions its manifest names', async () => {
    const connection = connect(definition);
    connection.bind([]);
    expect(Object.keys(connection.actions).sort()).toEqual([...manifest.actions].sort());
    expect(['ok', 'reduced', 'error']).toContain(connection.health());
    await connection.close();
  });

  it('declares its ops as closed inputs, and offers no other', async () => {
    const connection = connect(definition);
    const ids = opsOf(manifest).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const op of opsOf(manifest)) {
      expect(op.id).toMatch(/^[a-z]+(_[a-z]+)*\.[a-z]+(_[a-z]+)*$/);
      expect(op.label.en).toMatch(/\S/);
      expect(op.description).toMatch(/\S/);
      expect(isClosed(op.input), `the input of ${op.id} is closed`).toBe(true);
      expect(() => ajv.compile(op.input)).not.toThrow();
    }
    expect(Object.keys(connection.ops ?? {}).filter((id) => !ids.includes(id))).toEqual([]);
    if (connection.discover !== undefined) expect(manifest.discovery).toBeDefined();
    await connection.close();
  });

  it('tests its connection without failing, wherever the far side is', async () => {
    const connection = connect(definition);
    const limits = { deadlineMs: systemClock.monotonicMs() + 2_000, signal: AbortSignal.timeout(2_000) };
    const tested = await opOf(connection, 'connection.test')?.({}, limits);
    expect(tested).toMatchObject({
      kind: 'done',
      result: { health: expect.stringMatching(/^(ok|reduced|error)$/), message: expect.stringMatching(/\S/) },
    });
    await connection.close();
  });

  it('gives its ids a form that can be checked', () => {
    for (const pattern of [manifest.deviceExternalIdPattern, manifest.entityExternalIdPattern])
      if (pattern !== undefined) expect(() => new RegExp(pattern, 'u')).not.toThrow();
  });

  it.each(manifest.actions.map((verb: Verb) => [verb]))('never sends %s after the deadline', async (verb) => {
    const connection = connect(definition);
    const delivery = await connection.actions[verb]?.(command(-1));
    expect(delivery?.kind).toBe('not_sent');
    await connection.close();
  });

  it('closes, and closes again', async () => {
    const connection = connect(definition);
    await connection.close();
    await expect(connection.close()).resolves.toBeUndefined();
  });
});
