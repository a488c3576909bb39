import type { Credentials } from './auth/credentials.ts';
import type { Config } from './config.ts';
import type { Database } from './db/database.ts';
import { createEgress } from './egress/egress.ts';
import type { Providers } from './engine/providers.ts';
import { createScriptRunner } from './features/scripting/script-runner.ts';
import { createScriptingService, type ScriptingService } from './features/scripting/scripting.service.ts';
import { parseEmail } from './features/users/users.rules.ts';
import { createDenialRecorder } from './http/denials.ts';
import { createOperationPerformer } from './http/perform-operation.ts';
import type { Clock } from './kernel/clock.ts';
import type { Handlers } from './kernel/handler.ts';
import { createStamps } from './kernel/lifecycle.ts';

export interface ScriptingParts {
  readonly config: Config;
  readonly db: Database;
  readonly clock: Clock;
  readonly rootOrgId: string;
  readonly credentials: Pick<Credentials, 'orgScope'>;
  readonly providers: Pick<Providers, 'manifest' | 'label'>;
}

/** Scripts take their steps by the handlers that serve requests, which they are one of: so these come later. */
export function composeScripting(parts: ScriptingParts, handlers: () => Handlers): ScriptingService {
  const { config, db, clock, rootOrgId, credentials, providers } = parts;
  return createScriptingService({
    db,
    clock,
    rootOrgId,
    brand: config.brand,
    orgScope: credentials.orgScope,
    manifestOf: providers.manifest,
    providerLabel: providers.label,
    stampsOf: createStamps(config.retentionDays),
    parseEmail,
    egress: createEgress({ allow: config.egressAllow }),
    performer: createOperationPerformer({
      handlers,
      credentials,
      denials: createDenialRecorder(db, rootOrgId),
    }),
    runner: createScriptRunner(),
  });
}
