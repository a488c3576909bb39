import type { CreateIntegrationRequest, UpdateIntegrationRequest } from '@lintel/contract/integrations';
import { originOf, recordEvent } from '../../audit/audit.store.ts';
import type { Tx } from '../../db/database.ts';
import { AppError, invalid, notFound } from '../../kernel/app-error.ts';
import { type Call, type OrgScope, principalOf } from '../../kernel/call.ts';
import {
  changedFields,
  parseResourceName,
  requireSmallMetadata,
  requireUnlimited,
} from '../../kernel/resource-input.ts';
import { Secret } from '../../kernel/secret.ts';
import { pickText } from '../../kernel/text.ts';
import { ulid } from '../../kernel/ulid.ts';
import { requirePolicyRights } from '../../policy/policed-devices.ts';
import type { Secrets } from '../../secrets/secret-store.ts';
import { deleteParts, hasParts, purgeParts } from './integration-parts.store.ts';
import { requireManifest, requireShape } from './integrations.rules.ts';
import type { IntegrationsDeps } from './integrations.service.ts';
import {
  type Integration,
  insertIntegration,
  lockIntegration,
  purgeIntegration,
  setIntegrationDeleted,
  updateIntegration,
} from './integrations.store.ts';

type Config = Integration['config'];
type SecretInput = Readonly<Record<string, string>>;

export async function createIntegration(
  deps: IntegrationsDeps,
  call: Call,
  org: OrgScope,
  input: CreateIntegrationRequest,
): Promise<Integration> {
  requireUnlimited(principalOf(call));
  if ((input.org_id ?? org.id) !== org.id)
    throw invalid('/org_id', 'must be the organization of the request');
  const manifest = requireManifest(deps.manifestOf(input.provider_type));
  const config = input.config ?? {};
  requireConfig(deps, manifest.type, config);
  requireShape(deps.checkShape, manifest.secrets, input.secrets ?? {}, '/secrets');
  const name = nameOf(deps, org, manifest.type, input.name ?? null);
  const fields = { id: ulid(), providerType: manifest.type, name, enabled: input.enabled ?? true, config };
  return deps.db.inOrg(org.id, async (tx) => {
    const integration = await insertIntegration(tx, org.id, fields);
    await deps.secrets.replace(tx, org.id, fields.id, toSecrets(input.secrets ?? {}));
    await record(tx, call, org, 'integration.created', integration, { provider_type: manifest.type });
    return integration;
  });
}

type IntegrationEvent =
  | 'integration.created'
  | 'integration.updated'
  | 'integration.deleted'
  | 'integration.restored'
  | 'integration.purged';

interface IntegrationChange {
  readonly type: IntegrationEvent;
  /** Which integrations it is about; the others do not exist for it. */
  readonly of: 'live' | 'all';
  /** Returns the integration as the caller is shown it, and the details of the event. */
  work(tx: Tx, integration: Integration): Promise<{ integration: Integration; details: object }>;
}

/** Locks an integration, changes it with its secrets and writes the one event, in one transaction. */
export async function changeIntegration(
  deps: IntegrationsDeps,
  call: Call,
  org: OrgScope,
  id: string,
  change: IntegrationChange,
): Promise<Integration> {
  requireUnlimited(principalOf(call));
  // The path too: a device may have its steward in an organization above.
  return deps.db.inOrg(org.path, async (tx) => {
    const found = await lockIntegration(tx, org.id, id);
    if (found === null || (change.of === 'live' && found.deletedAt !== null)) throw notFound();
    const { integration, details } = await change.work(tx, found);
    await record(tx, call, org, change.type, integration, details);
    return integration;
  });
}

export function editing(
  deps: IntegrationsDeps,
  org: OrgScope,
  input: UpdateIntegrationRequest,
): IntegrationChange {
  return {
    type: 'integration.updated',
    of: 'live',
    async work(tx, integration) {
      const { orgId, id, providerType } = integration;
      if ((input.provider_type ?? providerType) !== providerType)
        throw invalid('/provider_type', 'can not change: make a new integration');
      // Clearing always works; whether the provider can do anything without is told by its health.
      if (input.config) requireConfig(deps, providerType, input.config);
      if (input.secrets) requireSecrets(deps, providerType, input.secrets);
      const edit = {
        ...(input.name === undefined ? {} : { name: nameOf(deps, org, providerType, input.name) }),
        ...(input.enabled === undefined || input.enabled === null ? {} : { enabled: input.enabled }),
        ...(input.config === undefined ? {} : { config: input.config ?? {} }),
      };
      const changed = [
        ...changedFields<Integration>(integration, edit),
        ...(input.secrets === undefined ? [] : ['secrets']),
      ];
      if (changed.length === 0) return { integration, details: { changed } };
      await changeSecrets(deps, tx, integration, input.secrets);
      const updated = await updateIntegration(tx, orgId, { ...integration, ...edit, id });
      return { integration: updated, details: { changed } };
    },
  };
}

async function changeSecrets(
  { secrets }: IntegrationsDeps,
  tx: Tx,
  { orgId, id }: Integration,
  input: SecretInput | null | undefined,
): Promise<void> {
  if (input === undefined) return;
  if (input === null) await secrets.clear(tx, orgId, id);
  else await secrets.replace(tx, orgId, id, toSecrets(input));
}

export function deleting(recursive: boolean): IntegrationChange {
  return {
    type: 'integration.deleted',
    of: 'live',
    async work(tx, { orgId, id }) {
      if (!recursive && (await hasParts(tx, orgId, id, 'live'))) throw hasChildren();
      const parts = recursive ? await deleteParts(tx, orgId, id) : {};
      return { integration: await setIntegrationDeleted(tx, orgId, id, true), details: parts };
    },
  };
}

export const restoring: IntegrationChange = {
  type: 'integration.restored',
  of: 'all',
  async work(tx, { orgId, id, deletedAt }) {
    if (deletedAt === null) throw new AppError('not_deleted', 'the integration is not deleted');
    return { integration: await setIntegrationDeleted(tx, orgId, id, false), details: {} };
  },
};

export function purging(
  { secrets }: IntegrationsDeps,
  call: Call,
  org: OrgScope,
  recursive: boolean,
): IntegrationChange {
  return {
    type: 'integration.purged',
    of: 'all',
    async work(tx, integration) {
      const { orgId, id } = integration;
      if (!recursive && (await hasParts(tx, orgId, id, 'all'))) throw hasChildren();
      await requirePolicyRights(tx, principalOf(call), org, { integrationId: id });
      const parts = recursive ? await purgeParts(tx, orgId, id) : {};
      await secrets.purge(tx, orgId, id);
      await purgeIntegration(tx, orgId, id);
      return { integration, details: parts };
    },
  };
}

function hasChildren(): AppError {
  return new AppError(
    'has_children',
    'the integration has zones or devices: remove them first, or send recursive=true',
  );
}

function requireConfig(deps: IntegrationsDeps, providerType: string, config: Config): void {
  requireSmallMetadata(config, '/config');
  requireShape(deps.checkShape, requireManifest(deps.manifestOf(providerType)).config, config, '/config');
}

function requireSecrets(deps: IntegrationsDeps, providerType: string, secrets: SecretInput): void {
  requireShape(deps.checkShape, requireManifest(deps.manifestOf(providerType)).secrets, secrets, '/secrets');
}

function nameOf(deps: IntegrationsDeps, org: OrgScope, providerType: string, input: unknown) {
  return input === null
    ? { ...deps.providerLabel(providerType) }
    : parseResourceName(input, org.defaultLocale);
}

function toSecrets(input: SecretInput): Secrets {
  return Object.fromEntries(Object.entries(input).map(([field, value]) => [field, new Secret(value)]));
}

async function record(
  tx: Tx,
  call: Call,
  org: OrgScope,
  type: IntegrationEvent,
  integration: Integration,
  details: object,
): Promise<void> {
  const name = pickText(integration.name, org.defaultLocale);
  const resource = { type: 'integration', id: integration.id, name };
  await recordEvent(tx, originOf(call), { orgId: org.id, type, resource, details: { ...details } });
}
