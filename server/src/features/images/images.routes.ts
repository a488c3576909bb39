import type { CopiedImageKind, ImageKind, ImageSize, ResourceImageUrl } from '@lintel/contract/images';
import type { Call, OrgScope } from '../../kernel/call.ts';
import type { HandlersOf } from '../../kernel/handler.ts';
import type { SignedUrl } from '../../media/signed-urls.ts';
import type { ImagesService } from './images.service.ts';

type Ids = `${'get' | 'post' | 'delete'}_${ImageKind}_image` | `post_${CopiedImageKind}_image_copy_from`;

interface Input {
  readonly call: Call;
  readonly org: OrgScope;
  readonly params: { readonly id: string };
}

export function imageRoutes(images: ImagesService): HandlersOf<Ids> {
  const read = async (kind: ImageKind, { call, org, params }: Input, size: ImageSize = 'full') => {
    const found = await images.url(call, org, kind, params.id, size);
    return found === null ? undefined : toRecord(found);
  };
  const upload = async (kind: ImageKind, { call, org, params, body }: Input & { body: Uint8Array }) =>
    toRecord(await images.upload(call, org, kind, params.id, body));
  const remove = async (kind: ImageKind, { call, org, params }: Input): Promise<undefined> => {
    await images.delete(call, org, kind, params.id);
  };
  const copy = async (kind: CopiedImageKind, { call, org, params }: Input, sourceId: string) =>
    toRecord(await images.copyFrom(call, org, kind, params.id, sourceId));
  return {
    get_device_image: (input) => read('device', input, input.query.size),
    post_device_image: (input) => upload('device', input),
    delete_device_image: (input) => remove('device', input),
    post_device_image_copy_from: (input) => copy('device', input, input.body.source_device_id),
    get_entity_image: (input) => read('entity', input, input.query.size),
    post_entity_image: (input) => upload('entity', input),
    delete_entity_image: (input) => remove('entity', input),
    post_entity_image_copy_from: (input) => copy('entity', input, input.body.source_entity_id),
    get_integration_image: (input) => read('integration', input, input.query.size),
    post_integration_image: (input) => upload('integration', input),
    delete_integration_image: (input) => remove('integration', input),
    post_integration_image_copy_from: (input) => copy('integration', input, input.body.source_integration_id),
    get_user_image: (input) => read('user', input, input.query.size),
    post_user_image: (input) => upload('user', input),
    delete_user_image: (input) => remove('user', input),
    get_org_image: (input) => read('org', input, input.query.size),
    post_org_image: (input) => upload('org', input),
    delete_org_image: (input) => remove('org', input),
  };
}

function toRecord({ url, expiresInSeconds }: SignedUrl): ResourceImageUrl {
  return { url, expires_in_seconds: expiresInSeconds };
}
