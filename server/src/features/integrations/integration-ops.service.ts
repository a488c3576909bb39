import type { AuditOutcome } from '@lintel/contract/events';
import { originOf, recordEvent } from '../../audit/audit.store.ts';
import type { Database } from '../../db/database.ts';
import type { OpAnswer, OpRequest, ProviderOps } from '../../engine/provider-ops.ts';
import { AppError, notFound } from '../../kernel/app-error.ts';
import {
  type Call,
  entityLimit,
  hasRole,
  type OrgScope,
  principalOf,
  requireRole,
} from '../../kernel/call.ts';
import { requireUnlimited } from '../../kernel/resource-input.ts';
import { pickText } from '../../kernel/text.ts';
import { opsOf } from '../../providers/ops.ts';
import type { DiscoveredDevice, OpDefinition, ProviderManifest } from '../../providers/provider.ts';
import { metadataSchemaOf } from '../../providers/record-rules.ts';
import { listAddedIds } from './integration-parts.store.ts';
import { auditableInput, type CheckShape, requireShape, roleFor } from './integrations.rules.ts';
import { findIntegration, type Integration } from './integrations.store.ts';

export interface IntegrationOpsDeps {
  readonly db: Database;
  /** Null for a kind of provider that this build does not have. */
  readonly manifestOf: (providerType: string) => ProviderManifest | null;
  readonly checkShape: CheckShape;
  readonly runOp: ProviderOps['run'];
}

export interface DiscoveredWithUse extends DiscoveredDevice {
  readonly alreadyAdded: boolean;
}

export interface IntegrationOpsService {
  list(call: Call, org: OrgScope, id: string, includeDeleted: boolean): Promise<readonly OpDefinition[]>;
  execute(call: Call, org: OrgScope, id: string, opId: string, input: unknown): Promise<unknown>;
  discover(call: Call, org: OrgScope, id: string, includeDeleted: boolean): Promise<DiscoveredWithUse[]>;
  deviceMetadataSchema(
    call: Call,
    org: OrgScope,
    id: string,
    includeDeleted: boolean,
  ): Promise<{ providerType: string; schema: Record<string, unknown> }>;
}

export function createIntegrationOpsService(deps: IntegrationOpsDeps): IntegrationOpsService {
  return {
    async list(call, org, id, includeDeleted) {
      const { providerType } = await seen(deps, call, org, id, includeDeleted);
      const manifest = deps.manifestOf(providerType);
      return manifest === null ? [] : opsOf(manifest);
    },
    execute: (call, org, id, opId, input) => execute(deps, call, org, id, { opId, input }),
    discover: (call, org, id, includeDeleted) => discover(deps, call, org, id, includeDeleted),
    async deviceMetadataSchema(call, org, id, includeDeleted) {
      const { providerType } = await seen(deps, call, org, id, includeDeleted);
      return { providerType, schema: metadataSchemaOf(deps.manifestOf(providerType), 'deviceMetadata') };
    },
  };
}

async function seen(
  { db }: IntegrationOpsDeps,
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

async function execute(
  deps: IntegrationOpsDeps,
  call: Call,
  org: OrgScope,
  id: string,
  { opId, input }: { readonly opId: string; readonly input: unknown },
): Promise<unknown> {
  requireSomeOpRole(call, org);
  const integration = await seen(deps, call, org, id, false);
  const manifest = deps.manifestOf(integration.providerType);
  const op = manifest === null ? undefined : opsOf(manifest).find((each) => each.id === opId);
  if (op === undefined) throw notOffered('this provider does not have this op');
  requireRole(principalOf(call), org, roleFor(op));
  requireShape(deps.checkShape, op.input, input, '');
  requireEnabled(integration);
  // A closed object, by its schema.
  const members = input as Record<string, unknown>;
  const work = () => run(deps, integration, { id: op.id, input: members });
  const result =
    op.effect === 'read' ? await work() : await audited(deps, call, org, integration, op, members, work);
  return resultOf(result, op.effect === 'update');
}

function requireEnabled({ enabled, deletedAt }: Integration): void {
  if (!enabled || deletedAt !== null)
    throw new AppError('integration_disabled', 'the integration is paused or deleted');
}

/** Before anything is looked up: whoever has none of the roles learns nothing about what there is. */
function requireSomeOpRole(call: Call, org: OrgScope): void {
  const principal = principalOf(call);
  const roles = ['integrations:read', 'integrations:update', 'integrations:secrets'] as const;
  if (!roles.some((role) => hasRole(principal, org, role)))
    throw new AppError('forbidden', 'this needs a role for integrations');
  requireUnlimited(principal);
}

function run(
  { runOp }: IntegrationOpsDeps,
  { orgId, id: integrationId, providerType, config }: Integration,
  request: OpRequest,
): Promise<OpAnswer> {
  return runOp({ orgId, integrationId, providerType, config }, request);
}

const outcomes: Readonly<Record<OpAnswer['kind'], AuditOutcome>> = {
  done: 'succeeded',
  refused: 'failed',
  absent: 'failed',
  not_sent: 'failed',
  unknown: 'unknown',
};

/** The one event of an op, whatever became of it; it commits before the answer leaves. */
async function audited(
  { db }: IntegrationOpsDeps,
  call: Call,
  org: OrgScope,
  integration: Integration,
  op: OpDefinition,
  input: Record<string, unknown>,
  work: () => Promise<OpAnswer>,
): Promise<OpAnswer> {
  let outcome: AuditOutcome = 'unknown';
  try {
    const result = await work();
    outcome = outcomes[result.kind];
    return result;
  } catch (error) {
    // Said by this service itself, before anything was asked of the far side.
    if (error instanceof AppError) outcome = 'failed';
    throw error;
  } finally {
    const name = pickText(integration.name, org.defaultLocale);
    await db.inOrg(org.id, (tx) =>
      recordEvent(tx, originOf(call), {
        orgId: org.id,
        type: op.effect === 'secret' ? 'integration.secrets_read' : 'integration.op_executed',
        outcome,
        resource: { type: 'integration', id: integration.id, name },
        details: { op: op.id, input: auditableInput(op, input) },
      }),
    );
  }
}

/** Reading twice does no harm, so without an answer a reader may simply try again. */
function resultOf(result: OpAnswer, changes: boolean): unknown {
  switch (result.kind) {
    case 'done':
      return result.result;
    case 'absent':
      throw notOffered('not offered with the settings of this integration');
    case 'refused':
      throw new AppError('device_refused', result.reason);
    case 'not_sent':
      throw new AppError('device_unreachable', result.reason);
    case 'unknown':
      throw new AppError(changes ? 'outcome_unknown' : 'device_unreachable', result.reason);
  }
}

async function discover(
  deps: IntegrationOpsDeps,
  call: Call,
  org: OrgScope,
  id: string,
  includeDeleted: boolean,
): Promise<DiscoveredWithUse[]> {
  requireUnlimited(principalOf(call));
  const integration = await seen(deps, call, org, id, includeDeleted);
  const rule = deps.manifestOf(integration.providerType)?.discovery;
  if (rule === undefined) throw notOffered('this provider can not discover devices');
  requireEnabled(integration);
  // What a provider answers to a look around.
  const found = resultOf(
    await run(deps, integration, { id: null, input: {} }),
    false,
  ) as readonly DiscoveredDevice[];
  const added = await deps.db.inOrg(org.id, (tx) => listAddedIds(tx, org.id, id, rule));
  const known = new Set(added.map((externalId) => externalId.toLowerCase()));
  return found.map((device) => ({ ...device, alreadyAdded: known.has(device.externalId.toLowerCase()) }));
}

const notOffered = (message: string): AppError => new AppError('action_not_implemented', message);
