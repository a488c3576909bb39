import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resultOf, type Script, scripting, scriptsOf } from '../../../test/support/script-requests.ts';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { type BuildingIds, rootAdminId, rootOrgId } from '../../../test/support/test-world.ts';
import { samplePng } from '../../../test/support/upload-form.ts';

describe('images by a script', { timeout: 240_000 }, () => {
  let app: TestApp;
  let twin: Server;
  let url: string;
  let asked = 0;
  let orgId: string;
  let building: BuildingIds;
  let run: Script;
  beforeAll(async () => {
    app = await startTestApp({ env: { EGRESS_ALLOW: '127.0.0.1' } });
    twin = createServer((request, response) => {
      asked += 1;
      if (request.url === '/moved') response.writeHead(302, { location: '/a.png' }).end();
      else response.writeHead(200, { 'content-type': 'image/png' }).end(samplePng);
    });
    await new Promise<void>((resolve) => twin.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(twin.address() as AddressInfo).port}`;
    orgId = await app.world.org({ name: 'Pictured' });
    building = await app.world.building(orgId);
    run = scriptsOf(app, (await app.world.key(rootOrgId, rootAdminId, scripting)).token);
  });
  afterAll(async () => {
    twin.close();
    await app.close();
  });

  const targets = (): [kind: string, id: string][] => [
    ['device', building.deviceId],
    ['entities', building.entityId],
    ['integration', building.integrationId],
    ['user', rootAdminId],
    ['org', orgId],
  ];

  it('are fetched once for each kind, and a plan says so without fetching', async () => {
    for (const [kind, id] of targets()) {
      const script = `[has_image("${kind}", "${id}"), upload_image("${kind}", "${id}", "${url}/a.png"),
        upload_image("${kind}", "${id}", "${url}/a.png"), has_image("${kind}", "${id}")]`;
      const before = asked;
      const planned = await run(script, { plan: true });
      expect([kind, asked - before, planned.body.result]).toEqual([kind, 0, [false, true, false, true]]);
      expect(planned.body.changes).toMatchObject([
        { op: 'upload_image', id, fields: { url: `${url}/a.png` } },
      ]);
      expect([kind, await resultOf(run, script), asked - before]).toEqual([
        kind,
        [false, true, false, true],
        1,
      ]);
    }
  });

  it.each<[string, string, RegExp]>([
    ['zone', '/a.png', /a zone has no image/],
    ['access_invite', '/a.png', /access invites have no images here yet/],
    ['org', '/moved', /the image can not be fetched: status 302/],
  ])('are refused for %s from %s', async (kind, path, text) => {
    const org = await app.world.org({ name: 'Bare' });
    expect((await run(`upload_image("${kind}", "${org}", "${url}${path}")`)).body.message).toMatch(text);
  });

  it.each([
    'http://169.254.169.254/latest',
    'https://192.168.1.1/x',
    'file:///etc/passwd',
    'http://10.0.0.1/',
  ])('are not fetched from inside: %s', async (address) => {
    const org = await app.world.org({ name: 'Bare' });
    for (const plan of [true, false])
      expect((await run(`upload_image("org", "${org}", "${address}")`, { plan })).body.message).toMatch(
        /the image can not be fetched/,
      );
  });

  it('need the role to change the record, before anything is fetched', async () => {
    const key = await app.world.key(orgId, rootAdminId, { scopedRoles: ['execute', 'devices:read'] });
    const before = asked;
    const other = await app.world.building(orgId);
    const answer = await scriptsOf(
      app,
      key.token,
    )(`upload_image("device", "${other.deviceId}", "${url}/a.png")`);
    expect([answer.body.message, asked]).toEqual([expect.stringContaining('devices:update'), before]);
  });
});
