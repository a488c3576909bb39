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
import { createObjectCollector } from './media/object-collector.ts';
import { type ObjectStore, ObjectStoreError } from './media/object-store.ts';
import { createS3ObjectStore, type S3Settings } from './media/s3-object-store.ts';
import { createSignedUrls } from './media/signed-urls.ts';
import { StartupError } from './startup-error.ts';

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
  /** Fails where the settings of the object store can not work. */
  start(): Promise<void>;
  stop(): Promise<void>;
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
  const store =
    config.s3 === null
      ? createDiskObjectStore(join(config.dataDir, 'media'))
      : createS3ObjectStore(config.s3);
  const collector = createObjectCollector({ db, store, logger });
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
    start: async () => {
      if (config.s3 !== null) await requireStore(store, config.s3, logger);
      collector.start();
    },
    stop: () => collector.stop(),
    addRoute: (http) => addMediaRoute(http, service.read, imageContentType),
  };
}

/** A store that is away for a while must not keep the doors shut; one that will never work must be known at once. */
async function requireStore(
  store: ObjectStore,
  { endpoint, bucket }: S3Settings,
  logger: Logger,
): Promise<void> {
  try {
    await store.check();
  } catch (error) {
    if (!(error instanceof ObjectStoreError)) throw error;
    const what = `The object store ${endpoint}/${bucket} can not be used: ${error.reason}.`;
    if (error.isPermanent) throw new StartupError(`${what} Check the settings S3_*.`);
    logger.warn(`${what} Images answer 503 until it is back.`);
  }
}
