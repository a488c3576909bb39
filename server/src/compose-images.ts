import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { Credentials } from './auth/credentials.ts';
import type { ComposedIdentity } from './compose-identity.ts';
import type { Config } from './config.ts';
import type { Database } from './db/database.ts';
import { createImagesService, type ImagesService } from './features/images/images.service.ts';
import { createUsersService } from './features/users/users.service.ts';
import { addMediaRoute } from './http/media-route.ts';
import type { Clock } from './kernel/clock.ts';
import type { Logger } from './kernel/logger.ts';
import type { Secret } from './kernel/secret.ts';
import { createDiskObjectStore } from './media/disk-object-store.ts';
import { createImageCodec, imageContentType } from './media/image-codec.ts';
import { createObjectCollector, type ObjectCollector } from './media/object-collector.ts';
import { createSignedUrls } from './media/signed-urls.ts';

export interface ImageParts {
  readonly config: Config;
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pepper: Secret;
  readonly rootOrgId: string;
  readonly credentials: Credentials;
  readonly identity: Pick<ComposedIdentity, 'accounts'>;
}

export interface ComposedImages {
  readonly service: ImagesService;
  readonly collector: ObjectCollector;
  addRoute(http: FastifyInstance): void;
}

/** Pictures of records: where they are kept, and how they are handed out. */
export function composeImages(parts: ImageParts): ComposedImages {
  const { config, db, clock, pepper, rootOrgId, credentials, identity, logger } = parts;
  const users = createUsersService({
    db,
    rootOrgId,
    accounts: identity.accounts,
    orgScope: credentials.orgScope,
  });
  const store = createDiskObjectStore(join(config.dataDir, 'media'));
  const service = createImagesService({
    db,
    store,
    codec: createImageCodec(),
    urls: createSignedUrls({ pepper, clock, publicUrl: config.publicUrl }),
    rootOrgId,
    requireUser: (call, org, id) => users.get(call, org, id, false),
  });
  return {
    service,
    collector: createObjectCollector({ db, store, logger }),
    addRoute: (http) => addMediaRoute(http, service.read, imageContentType),
  };
}
