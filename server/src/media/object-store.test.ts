import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { S3mini } from 's3mini';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Swift, startSwift } from '../../test/support/peers/swift.ts';
import { createTenant } from '../../test/support/scenario-world.ts';
import { startTestApp } from '../../test/support/test-app.ts';
import { formWith, samplePng } from '../../test/support/upload-form.ts';
import { Secret } from '../kernel/secret.ts';
import { createDiskObjectStore } from './disk-object-store.ts';
import type { ObjectStore } from './object-store.ts';
import { createS3ObjectStore, type S3Settings } from './s3-object-store.ts';

let swift: Swift;
let dir: string;
let settings: S3Settings;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'lintel-objects-'));
  swift = await startSwift();
  await swift.createBucket('pictures');
  const { endpoint, region, accessKeyId, secretAccessKey } = swift;
  settings = {
    endpoint,
    region,
    accessKeyId,
    bucket: 'pictures',
    secretAccessKey: new Secret(secretAccessKey),
  };
});
afterAll(async () => {
  await swift.close();
  await rm(dir, { recursive: true, force: true });
});

const stores: readonly (readonly [string, () => ObjectStore])[] = [
  ['on disk', () => createDiskObjectStore(dir)],
  ['of S3', () => createS3ObjectStore(settings)],
];

describe.each(stores)('the object store %s', (_, create) => {
  it('gives back what was put, byte by byte, in place of what was there', async () => {
    const store = create();
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_each, index) => (index * 31) % 256));
    await store.put('ORG/a-full.webp', Buffer.from('before'));
    await store.put('ORG/a-full.webp', bytes);
    expect(bytes.equals((await store.get('ORG/a-full.webp')) ?? Buffer.alloc(0))).toBe(true);
  });

  it('has nothing where nothing was put, or was deleted, however often', async () => {
    const store = create();
    expect(await store.get('ORG/none.webp')).toBeNull();
    await store.put('ORG/b.webp', Buffer.from('b'));
    await store.delete('ORG/b.webp');
    await store.delete('ORG/b.webp');
    expect(await store.get('ORG/b.webp')).toBeNull();
  });

  it('never shows half of what two write at once', async () => {
    const store = create();
    const [one, two] = [Buffer.alloc(200_000, 'a'), Buffer.alloc(100_000, 'b')];
    await Promise.all([store.put('ORG/c.webp', one), store.put('ORG/c.webp', two)]);
    const found = Buffer.from((await store.get('ORG/c.webp')) ?? []);
    expect(found.equals(one) || found.equals(two)).toBe(true);
  });

  it.each(['../x', 'a//b', '/a', 'a/', 'a/../b', 'a b', 'a?x=1', 'a%2e', ''])(
    'does not take the key %j',
    async (key) => {
      const store = create();
      await expect((async () => store.put(key, Buffer.from('x')))()).rejects.toThrow('not a key');
      await expect((async () => store.get(key))()).rejects.toThrow('not a key');
    },
  );

  it('proves that it works', async () => {
    await expect(create().check()).resolves.toBeUndefined();
  });
});

describe('S3 that can not be used', () => {
  const broken = (change: Partial<S3Settings>) => createS3ObjectStore({ ...settings, ...change }).check();

  it.each<[string, Partial<S3Settings>, string]>([
    [
      'a wrong secret',
      { secretAccessKey: new Secret('canary-wrong') },
      'it answered 403 SignatureDoesNotMatch',
    ],
    ['an unknown access key', { accessKeyId: 'test:nobody' }, 'it answered 403 SignatureDoesNotMatch'],
    ['no such bucket', { bucket: 'elsewhere' }, 'it answered 404 NoSuchBucket'],
  ])('for %s says so, and will not mend itself', async (_, change, reason) => {
    const error: unknown = await broken(change).catch((each: unknown) => each);
    expect(error).toMatchObject({ reason, isPermanent: true, code: 'unavailable' });
    expect(JSON.stringify(error) + String(error)).not.toMatch(/canary|test:|AWS4/);
  });

  it('because nobody answers may mend itself', async () => {
    await expect(broken({ endpoint: 'http://127.0.0.1:9' })).rejects.toMatchObject({
      reason: expect.stringMatching(/^(no answer|the connection broke)/),
      isPermanent: false,
    });
  });

  it('keeps the service from starting where its settings are wrong, without naming the secret', async () => {
    const start = startTestApp({ env: { ...env(), S3_SECRET_ACCESS_KEY: 'canary-wrong' } });
    const error = await start.then(
      () => null,
      (each: unknown) => each,
    );
    expect(String(error)).toMatch(/object store .*\/pictures can not be used: .*SignatureDoesNotMatch/);
    expect(String(error)).not.toContain('canary');
  });
});

const env = () => ({
  S3_ENDPOINT: settings.endpoint,
  S3_BUCKET: settings.bucket,
  S3_REGION: settings.region,
  S3_ACCESS_KEY_ID: settings.accessKeyId,
  S3_SECRET_ACCESS_KEY: settings.secretAccessKey.reveal(),
});

it('a presigned address of the bucket that was tampered with is refused: the peer does check signatures', async () => {
  const { endpoint, region, accessKeyId, secretAccessKey } = swift;
  const s3 = new S3mini({ endpoint: `${endpoint}/pictures`, region, accessKeyId, secretAccessKey });
  await s3.putObject('ORG/signed.webp', Buffer.from('x'));
  await s3.putObject('ORG/other.webp', Buffer.from('y'));
  const url = await s3.getPresignedUrl('GET', 'ORG/signed.webp', 60);
  expect((await fetch(url)).status).toBe(200);
  expect((await fetch(url.replace('signed.webp', 'other.webp'))).status).toBe(403);
  expect((await fetch(`${endpoint}/pictures/ORG/signed.webp`)).status).toBeGreaterThanOrEqual(400);
});

it('images live in the bucket: uploaded, shown by a signed address, gone with their deletion, 503 while it is away', async () => {
  const app = await startTestApp({ env: env() });
  try {
    const tenant = await createTenant(app, 'bucket');
    const path = `/devices/${tenant.building.deviceId}/image`;
    const { headers, payload } = formWith(samplePng);
    const upload = () =>
      app.request('POST', path, { headers: { ...tenant.admin.headers, ...headers }, payload });
    const show = (url: URL) => app.app.http.inject({ method: 'GET', url: `${url.pathname}${url.search}` });

    const url = new URL(String((await upload()).body.url));
    const shown = await show(url);
    expect([shown.statusCode, shown.headers['content-type']]).toEqual([200, 'image/webp']);
    const key = url.pathname.replace('/media/', '');
    const stored = await createS3ObjectStore(settings).get(key);
    expect(Buffer.from(stored ?? []).equals(shown.rawPayload)).toBe(true);
    const tampered = new URL(url);
    tampered.searchParams.set('expires', String(Number(url.searchParams.get('expires')) + 1));
    expect((await show(tampered)).statusCode).toBe(404);

    await swift.pause();
    expect((await show(url)).statusCode).toBe(503);
    expect((await upload()).status).toBe(503);
    await swift.resume();
    expect((await show(url)).statusCode).toBe(200);

    await app.request('DELETE', path, { headers: { ...tenant.admin.headers } });
    expect((await show(url)).statusCode).toBe(404);
  } finally {
    await app.close();
  }
});
