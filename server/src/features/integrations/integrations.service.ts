import type { LocalizedText } from '@lintel/contract/common';
import type {
  CreateIntegrationRequest,
  ProviderDefinition,
  UpdateIntegrationRequest,
} from '@lintel/contract/integrations';
import { originOf, recordEvent } from '../../audit/audit.store.ts';
import type { Database } from '../../db/database.ts';
import { notFound } from '../../kernel/app-error.ts';
import { type Call, entityLimit, type OrgScope, principalOf } from '../../kernel/call.ts';
import { requireUnlimited } from '../../kernel/resource-input.ts';
import { pickText } from '../../kernel/text.ts';
import type { ProviderManifest } from '../../providers/provider.ts';
import type { SecretStore, Secrets } from '../../secrets/secret-store.ts';
import {
  changeIntegration,
  createIntegration,
  deleting,
  editing,
  purging,
  restoring,
} from './integration-changes.ts';
import { type CheckShape, definitionOf } from './integrations.rules.ts';
import {
  findIntegration,
  type Integration,
  type IntegrationFilters,
  listIntegrations,
} from './integrations.store.ts';

export type IntegrationHealth = 'ok' | 'reduced' | 'error';

export interface IntegrationsDeps {
  readonly db: Database;
  readonly secrets: Pick<SecretStore, 'readIn' | 'replace' | 'clear' | 'purge'>;
  readonly providerTypes: readonly string[];
  /** Null for a kind of provider that this build does not have. */
  readonly manifestOf: (providerType: string) => ProviderManifest | null;
  readonly checkShape: CheckShape;
  /** What a kind of provider is called. */
  readonly providerLabel: (providerType: string) => LocalizedText;
  readonly health: (providerType: string, integrationId: string) => IntegrationHealth;
}

export interface ListedIntegration extends Integration {
  readonly providerTypeName: LocalizedText;
  readonly health: IntegrationHealth;
}

type Described = Promise<ListedIntegration>;

export interface IntegrationsService {
  list(
    call: Call,
    org: OrgScope,
    filters: Omit<IntegrationFilters, 'limitedTo'>,
    page: { limit: number; offset: number },
  ): Promise<{ items: ListedIntegration[]; total: number }>;
  get(call: Call, org: OrgScope, id: string, includeDeleted: boolean): Described;
  create(call: Call, org: OrgScope, input: CreateIntegrationRequest): Described;
  update(call: Call, org: OrgScope, id: string, input: UpdateIntegrationRequest): Described;
  /** Recursive: with all that hangs on it. */
  remove(call: Call, org: OrgScope, id: string, recursive: boolean): Described;
  restore(call: Call, org: OrgScope, id: string): Described;
  purge(call: Call, org: OrgScope, id: string, recursive: boolean): Described;
  readSecrets(call: Call, org: OrgScope, id: string): Promise<Secrets>;
  providerTypes(): { providerType: string; name: LocalizedText }[];
  definition(providerType: string): ProviderDefinition;
}

export function createIntegrationsService(deps: IntegrationsDeps): IntegrationsService {
  const { db } = deps;
  const described = async (integration: Promise<Integration>) => describe(deps, await integration);
  return {
    async list(call, org, filters, page) {
      const limitedTo = entityLimit(principalOf(call));
      const found = await db.inOrg(org.id, (tx) =>
        listIntegrations(tx, org.id, { ...filters, limitedTo }, page),
      );
      return { items: found.items.map((integration) => describe(deps, integration)), total: found.total };
    },
    get: (call, org, id, includeDeleted) => described(getIntegration(deps, call, org, id, includeDeleted)),
    create: (call, org, input) => described(createIntegration(deps, call, org, input)),
    update: (call, org, id, input) =>
      described(changeIntegration(deps, call, org, id, editing(deps, org, input))),
    remove: (call, org, id, recursive) =>
      described(changeIntegration(deps, call, org, id, deleting(recursive))),
    restore: (call, org, id) => described(changeIntegration(deps, call, org, id, restoring)),
    purge: (call, org, id, recursive) =>
      described(changeIntegration(deps, call, org, id, purging(deps, call, org, recursive))),
    readSecrets: (call, org, id) => readSecrets(deps, call, org, id),
    providerTypes: () =>
      deps.providerTypes.map((providerType) => ({ providerType, name: deps.providerLabel(providerType) })),
    definition(providerType) {
      const manifest = deps.manifestOf(providerType);
      if (manifest === null) throw notFound();
      return definitionOf(manifest);
    },
  };
}

function describe(deps: IntegrationsDeps, integration: Integration): ListedIntegration {
  return {
    ...integration,
    providerTypeName: deps.providerLabel(integration.providerType),
    health: deps.health(integration.providerType, integration.id),
  };
}

async function getIntegration(
  { db }: IntegrationsDeps,
  call: Call,
  org: OrgScope,
  id: string,
  includeDeleted: boolean,
): Promise<Integration> {
  const limitedTo = entityLimit(principalOf(call));
  const found = await db.inOrg(org.id, (tx) =>
    findIntegration(tx, org.id, id, { includeDeleted, limitedTo }),
  );
  if (found === null) throw notFound();
  return found;
}

/** The event commits before the answer leaves: nobody reads a secret without a trace. */
function readSecrets(deps: IntegrationsDeps, call: Call, org: OrgScope, id: string): Promise<Secrets> {
  requireUnlimited(principalOf(call));
  return deps.db.inOrg(org.id, async (tx) => {
    const found = await findIntegration(tx, org.id, id, { includeDeleted: false, limitedTo: null });
    if (found === null) throw notFound();
    const secrets = await deps.secrets.readIn(tx, org.id, id);
    const resource = { type: 'integration', id, name: pickText(found.name, org.defaultLocale) };
    const details = { fields: Object.keys(secrets) };
    const type = 'integration.secrets_read';
    await recordEvent(tx, originOf(call), { orgId: org.id, type, resource, details });
    return secrets;
  });
}
