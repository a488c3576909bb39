import type { Credentials } from './auth/credentials.ts';
import { formatToken, type TokenFormat } from './auth/token.rules.ts';
import type { Config } from './config.ts';
import type { Database } from './db/database.ts';
import { apiKeyRoutes } from './features/api-keys/api-keys.routes.ts';
import { createApiKeysService } from './features/api-keys/api-keys.service.ts';
import type { Clock } from './kernel/clock.ts';
import type { Handlers } from './kernel/handler.ts';
import type { Secret } from './kernel/secret.ts';

/** What features are made from. */
export interface Parts {
  readonly config: Config;
  readonly db: Database;
  readonly clock: Clock;
  readonly pepper: Secret;
  readonly rootOrgId: string;
  readonly credentials: Credentials;
  readonly tokenFormat: TokenFormat;
}

/** One handler for every operation of the contract. */
export function composeHandlers(parts: Parts): Handlers {
  const { db, clock, credentials, tokenFormat } = parts;
  const apiKeys = createApiKeysService({
    db,
    clock,
    hashSecret: credentials.hashSecret,
    formatToken: (secret) => formatToken(tokenFormat, secret),
  });
  return {
    ...apiKeyRoutes(apiKeys, tokenFormat.apiBase),
  } as unknown as Handlers;
}
