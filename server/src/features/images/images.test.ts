import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ImageKind } from '@lintel/contract/images';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createMember, createTenant, keyActor, type Tenant } from '../../../test/support/scenario-world.ts';
import { createShiftedClock } from '../../../test/support/shifted-clock.ts';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { rootAdminId, rootOrgId } from '../../../test/support/test-world.ts';
import { formOf, formWith, samplePng, type UploadForm } from '../../../test/support/upload-form.ts';
import { createLogger } from '../../kernel/logger.ts';
import { ulid } from '../../kernel/ulid.ts';
import { createDiskObjectStore } from '../../media/disk-object-store.ts';
import { createObjectCollector } from '../../media/object-collector.ts';

let app: TestApp;
let tenant: Tenant;
const clock = createShiftedClock();

beforeAll(async () => {
  app = await startTestApp({ clock });
  tenant = await createTenant(app, 'pictures');
});
afterAll(() => app.close());

const noise = (width: number, height: number) => {
  const pixels = Buffer.alloc(width * height * 3, 0x5a);
  return sharp(pixels, { raw: { width, height, channels: 3 } });
};

const paths: Readonly<Record<ImageKind, (of: Tenant) => Promise<string>>> = {
  device: async ({ building }) => `/devices/${building.deviceId}/image`,
  entity: async ({ building }) => `/entities/${building.entityId}/image`,
  integration: async ({ building }) => `/integrations/${building.integrationId}/image`,
  user: async (of) => `/users/${await createMember(app, of, 'entities:list')}/image`,
  org: async ({ orgId }) => `/orgs/${orgId}/image`,
};
const kinds = Object.keys(paths) as ImageKind[];

const as = (of: Tenant) => ({ headers: { ...of.admin.headers } });
const post = (path: string, { headers, payload }: UploadForm, of = tenant) =>
  app.request('POST', path, { headers: { ...of.admin.headers, ...headers }, payload });

async function fetchSigned(url: unknown) {
  const { pathname, search } = new URL(String(url));
  return app.app.http.inject({ method: 'GET', url: `${pathname}${search}` });
}

async function uploaded(path: string, bytes: Uint8Array = samplePng): Promise<string> {
  const answer = await post(path, formWith(bytes));
  expect(answer.status, answer.text).toBe(200);
  return String(answer.body.url);
}

async function storedFiles(): Promise<string[]> {
  const names = await readdir(join(app.dataDir, 'media'), { recursive: true });
  return names.filter((name) => name.endsWith('.webp')).toSorted();
}

/** What is no longer needed goes in the background; here at once. */
async function collect(): Promise<void> {
  const store = createDiskObjectStore(join(app.dataDir, 'media'));
  const logger = createLogger({ level: 'silent' });
  await createObjectCollector({ db: app.app.db, store, logger }).collect();
}

describe.each(kinds)('the image of a %s', (kind) => {
  it('is uploaded, read by a signed address in two sizes, and deleted', async () => {
    const path = await paths[kind](tenant);
    expect((await app.request('GET', path, as(tenant))).status).toBe(204);

    const picture = await noise(3000, 1500).png().toBuffer();
    const posted = await post(path, formWith(picture));
    expect(posted.status, posted.text).toBe(200);
    expect(posted.body.expires_in_seconds).toBe(900);

    const full = await app.request('GET', path, as(tenant));
    const thumb = await app.request('GET', `${path}?size=thumb`, as(tenant));
    for (const [answer, width, height] of [
      [full, 2048, 1024],
      [thumb, 256, 128],
    ] as const) {
      const served = await fetchSigned(answer.body.url);
      expect(served.statusCode).toBe(200);
      expect(served.headers['content-type']).toBe('image/webp');
      expect(await sharp(served.rawPayload).metadata()).toMatchObject({ format: 'webp', width, height });
    }

    expect((await app.request('DELETE', path, as(tenant))).status).toBe(204);
    expect((await app.request('GET', path, as(tenant))).status).toBe(204);
    expect((await fetchSigned(full.body.url)).statusCode).toBe(404);
    expect((await app.request('DELETE', path, as(tenant))).status).toBe(204);
  });

  it('is unknown to another organization, with the answer of a record that is not there', async () => {
    const path = await paths[kind](tenant);
    await uploaded(path);
    const stranger = await createTenant(app, 'stranger');
    for (const answer of [
      await app.request('GET', path, as(stranger)),
      await post(path, formWith(samplePng), stranger),
      await app.request('DELETE', path, as(stranger)),
    ]) {
      expect(answer.status).toBe(404);
    }
    expect((await app.request('GET', path, as(tenant))).status).toBe(200);
  });

  it('goes with its record', async () => {
    const own = await createTenant(app, 'purged');
    const path = await paths[kind](own);
    const id = path.split('/')[2];
    const url = (await post(path, formWith(samplePng), own)).body.url;
    expect((await fetchSigned(url)).statusCode).toBe(200);
    const below: Readonly<Record<ImageKind, readonly string[]>> = {
      entity: ['entities'],
      device: ['entities', 'devices'],
      integration: ['entities', 'devices', 'zones', 'integrations'],
      user: ['users'],
      org: ['entities', 'devices', 'zones', 'integrations', 'orgs'],
    };
    for (const table of below[kind]) {
      const column = table === 'orgs' || table === 'users' ? 'id' : 'org_id';
      await app.db.query(`delete from ${table} where ${column} = $1`, [column === 'id' ? id : own.orgId]);
    }
    expect((await fetchSigned(url)).statusCode).toBe(404);
    const name = new URL(String(url)).pathname.split('/').at(-1);
    await collect();
    expect((await storedFiles()).filter((file) => file.endsWith(String(name)))).toEqual([]);
  });
});

describe('an upload', () => {
  it('takes the place of the one before, whose address and objects are gone', async () => {
    const path = await paths.device(tenant);
    const first = await uploaded(path);
    await collect();
    const before = await storedFiles();
    const second = await uploaded(path);
    expect((await fetchSigned(first)).statusCode).toBe(404);
    expect((await fetchSigned(second)).statusCode).toBe(200);
    await collect();
    expect(await storedFiles()).toHaveLength(before.length);
    expect(await app.db.query('select from unused_objects')).toEqual([]);
  });

  it('sent twice at once leaves one image and no error', async () => {
    const path = await paths.entity(tenant);
    const answers = await Promise.all([1, 2, 3].map(() => post(path, formWith(samplePng))));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const served = await Promise.all(answers.map(({ body }) => fetchSigned(body.url)));
    expect(served.filter(({ statusCode }) => statusCode === 200)).toHaveLength(1);
  });

  it('loses place, camera and colour profile of a photo, and keeps its orientation', async () => {
    const photo = await noise(64, 32)
      .withExif({ IFD0: { Copyright: 'canary-exif' }, IFD3: { GPSLatitude: '52/1 30/1 0/1' } })
      .withIccProfile('p3')
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer();
    expect(photo.includes('canary-exif')).toBe(true);
    const served = await fetchSigned(await uploaded(await paths.org(tenant), photo));
    const { exif, icc, xmp, orientation, width, height } = await sharp(served.rawPayload).metadata();
    expect({ exif, icc, xmp, orientation }).toEqual({});
    expect([width, height]).toEqual([32, 64]);
    expect(served.rawPayload.includes('canary-exif')).toBe(false);
  });

  it('drops whatever else the file is', async () => {
    const script = Buffer.from('<script>alert(1)</script>PK\x03\x04');
    const jpeg = await noise(8, 8).jpeg().toBuffer();
    const served = await fetchSigned(await uploaded(await paths.org(tenant), Buffer.concat([jpeg, script])));
    expect(served.statusCode).toBe(200);
    expect(served.rawPayload.includes('script')).toBe(false);
  });

  const refusals: readonly (readonly [string, number, () => UploadForm])[] = [
    ['a form without a file', 400, () => formOf([])],
    ['a file in another field', 400, () => formWith(samplePng, { field: 'image' })],
    ['a plain field', 400, () => formWith(samplePng, { filename: null })],
    ['two files', 400, () => formOf([{ bytes: samplePng }, { bytes: samplePng }])],
    [
      'a field beside the file',
      400,
      () => formOf([{ bytes: samplePng }, { bytes: Buffer.from('x'), field: 'more', filename: null }]),
    ],
    ['an empty file', 400, () => formWith(Buffer.alloc(0))],
    ['a text', 400, () => formWith(Buffer.from('hello'))],
    ['a declared SVG', 415, () => formWith(Buffer.from('<svg/>'), { type: 'image/svg+xml' })],
    ['an SVG declared as PNG', 400, () => formWith(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'))],
    ['more than 10 MiB', 413, () => formWith(Buffer.alloc(10 * 1_048_576 + 1))],
    ['much more than 10 MiB', 413, () => formWith(Buffer.alloc(12 * 1_048_576))],
    ['no form', 415, () => ({ headers: { 'content-type': 'application/json' }, payload: Buffer.from('{}') })],
    ['a bare image', 415, () => ({ headers: { 'content-type': 'image/png' }, payload: samplePng })],
    [
      'a form without a boundary',
      400,
      () => ({ headers: { 'content-type': 'multipart/form-data' }, payload: samplePng }),
    ],
    [
      'a form that ends early',
      400,
      () => {
        const form = formWith(samplePng);
        return { ...form, payload: form.payload.subarray(0, -20) };
      },
    ],
  ];
  it.each(refusals)('with %s is refused with %i and leaves nothing', async (_, status, form) => {
    const before = await app.db.query('select * from images order by id');
    const answer = await post(await paths.device(tenant), form());
    expect(answer.status, answer.text).toBe(status);
    expect(await app.db.query('select * from images order by id')).toEqual(before);
    expect(await app.db.query(`select from unused_objects where due_at > now()`)).toEqual([]);
  });

  it('is read by no operation that does not take one', async () => {
    const answer = await post(`/orgs/${tenant.orgId}/invitations`, formWith(samplePng));
    expect(answer.status).toBe(415);
  });

  it('of somebody who may only read is refused before its body is looked at', async () => {
    const reader = await keyActor(app, tenant.orgId, rootAdminId, { scopedRoles: ['devices:read'] });
    const answer = await app.request('POST', await paths.device(tenant), {
      headers: { ...reader.headers, 'content-type': 'text/plain' },
      payload: Buffer.from('x'),
    });
    expect(answer.status).toBe(403);
  });

  it('and its deletion are one event each', async () => {
    const own = await createTenant(app, 'audited');
    const path = await paths.device(own);
    await post(path, formWith(samplePng), own);
    await app.request('DELETE', path, as(own));
    const events = await app.db.query(
      `select event_type, resource_type, resource_id, details - 'image_id' as details from audit_events
       where org_id = $1 and event_type like 'image.%' order by id`,
      [own.orgId],
    );
    const resource = { resource_type: 'device', resource_id: own.building.deviceId };
    expect(events).toEqual([
      { event_type: 'image.uploaded', ...resource, details: { width: 1, height: 1 } },
      { event_type: 'image.deleted', ...resource, details: { had_image: true } },
    ]);
  });
});

describe('a signed address', () => {
  it('shows what it serves as nothing but an image, to be kept by nobody', async () => {
    const { headers } = await fetchSigned(await uploaded(await paths.org(tenant)));
    expect(headers).toMatchObject({
      'content-type': 'image/webp',
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-store',
      'content-disposition': 'inline; filename="image.webp"',
    });
    expect(headers['content-security-policy']).toContain('sandbox');
  });

  it('ends', async () => {
    // The clock stands still, or the time that the upload takes would count.
    const signedAt = clock.millis();
    const time = vi.spyOn(clock, 'millis').mockReturnValue(signedAt);
    onTestFinished(() => time.mockRestore());
    const url = await uploaded(await paths.org(tenant));
    time.mockReturnValue(signedAt + 899_000);
    expect((await fetchSigned(url)).statusCode).toBe(200);
    time.mockReturnValue(signedAt + 900_000);
    expect((await fetchSigned(url)).statusCode).toBe(404);
  });

  it('is good for exactly what was signed', async () => {
    const url = new URL(await uploaded(await paths.org(tenant)));
    const other = new URL(await uploaded(await paths.device(tenant)));
    const change = (work: (changed: URL) => void) => {
      const changed = new URL(url);
      work(changed);
      return changed;
    };
    const expires = Number(url.searchParams.get('expires'));
    const tampered = [
      change((u) => u.searchParams.set('expires', String(expires + 1))),
      change((u) => u.searchParams.set('expires', `${expires}.0`)),
      change((u) => u.searchParams.delete('expires')),
      change((u) => u.searchParams.delete('signature')),
      change((u) => u.searchParams.append('signature', 'x')),
      change((u) => u.searchParams.set('signature', other.searchParams.get('signature') ?? '')),
      change((u) => u.searchParams.set('signature', `${'A'.repeat(43)}`)),
      change((u) => {
        u.pathname = u.pathname.replace('-full', '-thumb');
      }),
      change((u) => {
        u.pathname = u.pathname.replace(tenant.orgId, rootOrgId);
      }),
      change((u) => {
        u.pathname = other.pathname;
      }),
      change((u) => {
        u.pathname = '/media/..%2f..%2fpepper';
      }),
    ];
    for (const address of tampered) expect((await fetchSigned(address)).statusCode, address.href).toBe(404);
    expect((await fetchSigned(url)).statusCode).toBe(200);
  });

  it('of an image whose row is gone is 404, although the file is still there', async () => {
    const url = await uploaded(await paths.device(tenant));
    await app.db.query(`delete from images where kind = 'device' and org_id = $1`, [tenant.orgId]);
    expect((await storedFiles()).some((file) => url.includes(file.split('/').at(-1) ?? '-'))).toBe(true);
    expect((await fetchSigned(url)).statusCode).toBe(404);
  });
});

it('a key limited to other entities does not know the image of this one', async () => {
  const key = await keyActor(app, tenant.orgId, rootAdminId, {
    scopedRoles: ['entities:read', 'entities:update'],
    scopedEntityIds: [],
  });
  const path = await paths.entity(tenant);
  await uploaded(path);
  expect((await app.request('GET', path, { headers: { ...key.headers } })).status).toBe(404);
  expect((await app.request('DELETE', path, { headers: { ...key.headers } })).status).toBe(404);
});

it('a deleted record shows no image and takes none', async () => {
  const own = await createTenant(app, 'gone');
  const path = await paths.device(own);
  await post(path, formWith(samplePng), own);
  await app.db.query('update entities set deleted_at = now() where org_id = $1', [own.orgId]);
  await app.db.query('update devices set deleted_at = now() where org_id = $1', [own.orgId]);
  expect((await app.request('GET', path, as(own))).status).toBe(404);
  expect((await post(path, formWith(samplePng), own)).status).toBe(404);
});

describe.each(['device', 'entity', 'integration'] as const)('the image of another %s', (kind) => {
  const idOf = async (of: Tenant) => (await app.world.building(of.orgId))[`${kind}Id`];
  const plural = { device: 'devices', entity: 'entities', integration: 'integrations' }[kind];
  const copy = (id: string, sourceId: string, of = tenant) =>
    app.request('POST', `/${plural}/${id}/image/copy-from`, {
      ...as(of),
      body: { [`source_${kind}_id`]: sourceId },
    });

  it('is copied, and stays when its source goes', async () => {
    const [source, target] = [await idOf(tenant), await idOf(tenant)];
    const original = await fetchSigned(await uploaded(`/${plural}/${source}/image`));
    const answer = await copy(target, source);
    expect(answer.status, answer.text).toBe(200);
    await app.request('DELETE', `/${plural}/${source}/image`, as(tenant));
    await collect();
    const shown = await fetchSigned(answer.body.url);
    expect(shown.statusCode).toBe(200);
    expect(shown.rawPayload.equals(original.rawPayload)).toBe(true);
    const thumb = await app.request('GET', `/${plural}/${target}/image?size=thumb`, as(tenant));
    expect((await fetchSigned(thumb.body.url)).statusCode).toBe(200);
  });

  it('is 404 where there is none, or no such record, or it is of another organization', async () => {
    const [bare, target] = [await idOf(tenant), await idOf(tenant)];
    const stranger = await createTenant(app, 'strange pictures');
    const foreign = await idOf(stranger);
    expect((await post(`/${plural}/${foreign}/image`, formWith(samplePng), stranger)).status).toBe(200);
    expect((await copy(target, bare)).status).toBe(404);
    expect((await copy(target, ulid())).status).toBe(404);
    expect((await copy(target, foreign)).status).toBe(404);
    expect((await copy(foreign, bare)).status).toBe(404);
    expect((await app.request('GET', `/${plural}/${target}/image`, as(tenant))).status).toBe(204);
  });
});
