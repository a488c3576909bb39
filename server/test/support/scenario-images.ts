// Valid requests for images. What an upload carries is added where requests are sent.
import type { CopiedImageKind, ImageKind } from '@lintel/contract/images';
import { ulid } from '../../src/kernel/ulid.ts';
import type { Prepared, Recipe, Stage } from './scenario.ts';
import { createMember } from './scenario-world.ts';
import { rootOrgId } from './test-world.ts';
import { formWith, samplePng } from './upload-form.ts';

type Target = (stage: Stage) => Promise<string>;

const device: Target = async ({ tenant }) => tenant.building.deviceId;
const entity: Target = async ({ tenant }) => tenant.building.entityId;
const integration: Target = async ({ tenant }) => tenant.building.integrationId;
const user: Target = async ({ app, tenant }) => createMember(app, tenant, 'entities:list');
const org: Target = async ({ tenant }) => tenant.orgId;

const plain = (target: Target): Recipe => ({
  prepare: async (stage) => ({ params: { id: await target(stage) } }),
});

/** Without an image there is nothing to show or to delete. The row is what counts; nobody looks at the pixels here. */
const withImage = (kind: ImageKind, target: Target): Recipe => ({
  prepare: async (stage): Promise<Prepared> => {
    const { app, tenant } = stage;
    const id = await target(stage);
    await app.db.query(
      `insert into images (org_id, id, kind, resource_id, width, height) values ($1, $2, $3, $4, 1, 1)
       on conflict do nothing`,
      [kind === 'user' ? rootOrgId : tenant.orgId, ulid(), kind, id],
    );
    return { params: { id } };
  },
});

/** The image of a second building, uploaded for real: its pixels are what is copied. */
const copied = (kind: CopiedImageKind, target: Target): Recipe => ({
  prepare: async (stage): Promise<Prepared> => {
    const { app, tenant } = stage;
    const id = await target(stage);
    const source = (await app.world.building(tenant.orgId))[`${kind}Id`];
    const plural = { device: 'devices', entity: 'entities', integration: 'integrations' }[kind];
    const { headers, payload } = formWith(samplePng);
    await app.request('POST', `/${plural}/${source}/image`, {
      headers: { ...tenant.admin.headers, ...headers },
      payload,
    });
    const ref = `source_${kind}_id`;
    return { params: { id }, body: { [ref]: source }, refs: { [ref]: source } };
  },
});

type Ids = `${'get' | 'post' | 'delete'}_${ImageKind}_image` | `post_${CopiedImageKind}_image_copy_from`;

export const imageScenarios: Readonly<Record<Ids, Recipe>> = {
  get_device_image: withImage('device', device),
  post_device_image: plain(device),
  delete_device_image: withImage('device', device),
  post_device_image_copy_from: copied('device', device),
  get_entity_image: withImage('entity', entity),
  post_entity_image: plain(entity),
  delete_entity_image: withImage('entity', entity),
  post_entity_image_copy_from: copied('entity', entity),
  get_integration_image: withImage('integration', integration),
  post_integration_image: plain(integration),
  delete_integration_image: withImage('integration', integration),
  post_integration_image_copy_from: copied('integration', integration),
  get_user_image: withImage('user', user),
  post_user_image: plain(user),
  delete_user_image: withImage('user', user),
  get_org_image: withImage('org', org),
  post_org_image: plain(org),
  delete_org_image: withImage('org', org),
};
