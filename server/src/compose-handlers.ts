import { PolicyDraft } from '@lintel/contract/what-if';
import type { Credentials } from './auth/credentials.ts';
import { formatToken, type TokenFormat } from './auth/token.rules.ts';
import type { ComposedIdentity } from './compose-identity.ts';
import type { Config } from './config.ts';
import type { Database } from './db/database.ts';
import type { Engine } from './engine/engine.ts';
import type { Providers } from './engine/providers.ts';
import { actionRoutes } from './features/actions/actions.routes.ts';
import { agentRoutes } from './features/agents/agents.routes.ts';
import { createAgentsService } from './features/agents/agents.service.ts';
import { apiKeyRoutes } from './features/api-keys/api-keys.routes.ts';
import { createApiKeysService } from './features/api-keys/api-keys.service.ts';
import { approvalRoutes } from './features/approvals/approvals.routes.ts';
import { createApprovalsService } from './features/approvals/approvals.service.ts';
import { auditLogRoutes } from './features/audit-log/audit-log.routes.ts';
import { createAuditLogService } from './features/audit-log/audit-log.service.ts';
import { deviceRoutes } from './features/devices/devices.routes.ts';
import { createDevicesService } from './features/devices/devices.service.ts';
import { entityRoutes } from './features/entities/entities.routes.ts';
import { createEntitiesService } from './features/entities/entities.service.ts';
import { createEntityEditingService } from './features/entities/entity-editing.service.ts';
import { holdRoutes } from './features/holds/holds.routes.ts';
import { createHoldsService } from './features/holds/holds.service.ts';
import { createLockdownService } from './features/holds/lockdown.service.ts';
import { imageRoutes } from './features/images/images.routes.ts';
import type { ImagesService } from './features/images/images.service.ts';
import { integrationOpRoutes } from './features/integrations/integration-ops.routes.ts';
import { createIntegrationOpsService } from './features/integrations/integration-ops.service.ts';
import { integrationRoutes } from './features/integrations/integrations.routes.ts';
import type { CheckShape } from './features/integrations/integrations.rules.ts';
import { createIntegrationsService } from './features/integrations/integrations.service.ts';
import { meRoutes } from './features/me/me.routes.ts';
import { createMeService } from './features/me/me.service.ts';
import { createAdmitAttempt } from './features/org-invitations/invitation-attempts.ts';
import { createInvitationSecrets } from './features/org-invitations/invitation-secrets.ts';
import { orgInvitationRoutes } from './features/org-invitations/org-invitations.routes.ts';
import { createInvitationsService } from './features/org-invitations/org-invitations.service.ts';
import { createOrgTreeService } from './features/orgs/org-tree.service.ts';
import { orgRoutes } from './features/orgs/orgs.routes.ts';
import { createOrgsService } from './features/orgs/orgs.service.ts';
import { policyRoutes } from './features/policies/policies.routes.ts';
import { createPoliciesService } from './features/policies/policies.service.ts';
import { createStewardsService } from './features/policies/stewards.service.ts';
import { whatIfRoutes } from './features/policies/what-if.routes.ts';
import { createWhatIfService } from './features/policies/what-if.service.ts';
import { quotaRoutes } from './features/quotas/quotas.routes.ts';
import { createQuotasService } from './features/quotas/quotas.service.ts';
import { scriptingRoutes } from './features/scripting/scripting.routes.ts';
import type { ScriptingService } from './features/scripting/scripting.service.ts';
import { sessionRoutes } from './features/session/session.routes.ts';
import { createSessionService } from './features/session/session.service.ts';
import { statusRoutes } from './features/status/status.routes.ts';
import { userRoutes } from './features/users/users.routes.ts';
import { createUsersService } from './features/users/users.service.ts';
import { zoneRoutes } from './features/zones/zones.routes.ts';
import { createZonesService } from './features/zones/zones.service.ts';
import { compileBody } from './http/validation.ts';
import type { Clock } from './kernel/clock.ts';
import type { Handlers } from './kernel/handler.ts';
import { createStamps } from './kernel/lifecycle.ts';
import type { Secret } from './kernel/secret.ts';
import type { SecretStore } from './secrets/secret-store.ts';
import { version } from './version.ts';

/** What features are made from. */
export interface Parts {
  readonly config: Config;
  readonly db: Database;
  readonly clock: Clock;
  readonly pepper: Secret;
  readonly rootOrgId: string;
  readonly credentials: Credentials;
  readonly tokenFormat: TokenFormat;
  readonly engine: Engine;
  readonly providers: Providers;
  readonly providerTypes: readonly string[];
  readonly secrets: { readonly store: SecretStore };
  readonly identity: Pick<ComposedIdentity, 'sessions' | 'accounts'>;
  readonly images: ImagesService;
  readonly scripting: ScriptingService;
}

/** One handler for every operation of the contract. */
export function composeHandlers(parts: Parts): Handlers {
  const { db, clock, credentials, tokenFormat, rootOrgId } = parts;
  const apiKeys = createApiKeysService({
    db,
    clock,
    hashSecret: credentials.hashSecret,
    formatToken: (secret) => formatToken(tokenFormat, secret),
  });
  const stampsOf = createStamps(parts.config.retentionDays);
  return {
    ...statusRoutes({ environment: parts.config.environment, version }),
    ...actionRoutes(parts.engine),
    ...apiKeyRoutes(apiKeys, tokenFormat.apiBase),
    ...agentRoutes(
      createAgentsService({ db, clock, manifestOf: parts.providers.manifest, issueKey: apiKeys.issue }),
    ),
    ...assetRoutes(parts),
    ...policyRoutes(createPoliciesService(parts), createStewardsService(parts)),
    ...whatIfRoutes(createWhatIfService({ ...parts, checkDraft: compileBody(PolicyDraft) })),
    ...approvalRoutes(createApprovalsService(parts)),
    ...holdRoutes(createHoldsService(parts), createLockdownService(parts), clock),
    ...quotaRoutes(createQuotasService(parts)),
    ...scriptingRoutes(parts.scripting),
    ...auditLogRoutes(createAuditLogService(parts)),
    ...peopleRoutes(parts),
    ...imageRoutes(parts.images),
    ...orgRoutes(createOrgsService({ db }), createOrgTreeService({ db, rootOrgId }), stampsOf),
  };
}

/** Who belongs where, and how people come in. */
function peopleRoutes({ config, db, clock, pepper, rootOrgId, credentials, identity }: Parts) {
  const { accounts, sessions } = identity;
  const users = createUsersService({ db, rootOrgId, accounts, orgScope: credentials.orgScope });
  const invitations = createInvitationsService({
    db,
    clock,
    secrets: createInvitationSecrets(pepper),
    publicUrl: config.publicUrl,
    admitAttempt: createAdmitAttempt(db, clock),
  });
  const https = config.publicUrl.startsWith('https:');
  return {
    ...userRoutes(users, createStamps(config.retentionDays)),
    ...orgInvitationRoutes(invitations, clock),
    ...sessionRoutes(createSessionService({ sessions, https })),
    ...meRoutes(createMeService({ db, rootOrgId, accounts })),
  };
}

/** What there is to open, and where it hangs. */
function assetRoutes({ config, db, engine, secrets, providers, providerTypes }: Parts) {
  const manifestOf = providers.manifest;
  const stampsOf = createStamps(config.retentionDays);
  const composedTypes = providerTypes.filter((type) => manifestOf(type)?.composition !== undefined);
  const checkShape: CheckShape = (schema, value) => compileBody(schema)(value);
  const integrations = createIntegrationsService({
    db,
    secrets: secrets.store,
    providerTypes,
    manifestOf,
    checkShape,
    providerLabel: providers.label,
    health: providers.health,
  });
  return {
    ...entityRoutes(
      createEntitiesService({ db, manifestOf, composedTypes }),
      createEntityEditingService({ db, manifestOf, composedTypes }),
      stampsOf,
    ),
    ...deviceRoutes(createDevicesService({ db, manifestOf }), stampsOf),
    ...zoneRoutes(createZonesService({ db }), stampsOf),
    ...integrationRoutes(integrations, stampsOf),
    ...integrationOpRoutes(createIntegrationOpsService({ db, manifestOf, checkShape, runOp: engine.runOp })),
  };
}
