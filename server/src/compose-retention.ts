import type { Credentials } from './auth/credentials.ts';
import type { Config } from './config.ts';
import type { Database } from './db/database.ts';
import { createExpiredRecords, type ExpiredRecords } from './jobs/expired-records.ts';
import { notFound } from './kernel/app-error.ts';
import { systemCall } from './kernel/call.ts';
import type { Handlers } from './kernel/handler.ts';
import type { Logger } from './kernel/logger.ts';
import { ulid } from './kernel/ulid.ts';

export interface RetentionParts {
  readonly config: Config;
  readonly db: Database;
  readonly logger: Logger;
  readonly rootOrgId: string;
  readonly credentials: Pick<Credentials, 'orgScope'>;
}

/** Expired records go by the same handlers that callers purge with. */
export function composeRetention(parts: RetentionParts, handlers: Handlers): ExpiredRecords {
  const { config, db, logger, rootOrgId, credentials } = parts;
  return createExpiredRecords({
    db,
    logger,
    retentionDays: config.retentionDays,
    purge: async (kind, { orgId, id }) => {
      const org = await credentials.orgScope(orgId ?? rootOrgId);
      if (org === null) throw notFound();
      const { call, principal } = systemCall(rootOrgId, ulid());
      const headers = { append: () => undefined };
      await handlers[purges[kind]]({
        params: { id },
        query: {},
        body: undefined,
        call,
        principal,
        headers,
        org,
      });
    },
  });
}

const purges = {
  entity: 'hard_delete_entity',
  device: 'hard_delete_device',
  zone: 'hard_delete_zone',
  integration: 'hard_delete_integration',
  user: 'hard_delete_user',
  org: 'hard_delete_org',
} as const;
