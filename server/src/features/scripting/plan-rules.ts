import type { ScriptKind } from '@lintel/contract/scripting';
import { parseRoles, requireGrantable } from '../../auth/role-grants.rules.ts';
import { AppError, invalid } from '../../kernel/app-error.ts';
import { hasRole, isMember, type OrgScope, type Principal, requireRole } from '../../kernel/call.ts';
import type { ProviderManifest } from '../../providers/provider.ts';
import {
  requireFittingConfig,
  requireFittingExternalId,
  requireFittingMetadata,
} from '../../providers/record-rules.ts';
import type { Overlay } from './plan-overlay.ts';
import type { Fields } from './script-fields.ts';
import { foreignParent } from './script-orgs.ts';
import type { ScriptRecord } from './script-records.ts';
import type { Home } from './scripting.store.ts';

export interface RuleContext {
  readonly overlay: Overlay;
  readonly principal: Principal;
  readonly rootOrgId: string;
  /** Null for a kind of provider that this build does not have. */
  readonly manifestOf: (providerType: string) => ProviderManifest | null;
}

type Held = Exclude<ScriptKind, 'user'>;

/** What the record is to hang on must be there, and in the same organization. */
export async function requireParent(
  { overlay }: RuleContext,
  kind: Held,
  member: string,
  fields: Fields,
  orgId: string | null,
): Promise<Home | null> {
  const id = fields[member] ?? null;
  if (id === null) return null;
  const home = await overlay.locate(kind, String(id));
  if (home?.isLive && (orgId === null || home.orgId === orgId)) return home;
  throw foreignParent(member, kind);
}

/** A zone can not be below itself, however far. */
export async function requireAbove(
  { overlay }: RuleContext,
  zoneId: string,
  parentId: unknown,
): Promise<void> {
  const seen = new Set<string>();
  for (let at = (parentId ?? null) as string | null; at !== null && !seen.has(at); ) {
    if (at === zoneId) throw invalid('/parent_zone_id', 'is the zone itself or below it');
    seen.add(at);
    at = (await overlay.locate('zone', at))?.parentZoneId ?? null;
  }
}

/** The rules of the provider that a record of this kind falls under. */
export async function requireFitting(
  context: RuleContext,
  kind: ScriptKind,
  fields: Fields,
  record: ScriptRecord,
): Promise<void> {
  const manifest = await manifestFor(context, kind, record);
  if (kind === 'integration' && manifest === null)
    throw invalid('/provider_type', 'is not a kind of provider there is');
  if (manifest === null) return;
  const externalId = record.external_id as string | null;
  if (kind === 'integration' && fields.config) requireFittingConfig(manifest.config, record.config as Fields);
  if (kind === 'device') {
    requireFittingExternalId(manifest.deviceExternalId, externalId, manifest.deviceExternalIdPattern);
    requireFittingMetadata(manifest.deviceMetadata, record.device_metadata as Fields, '/device_metadata');
  }
  if (kind === 'entity') {
    requireFittingExternalId(manifest.entityExternalId, externalId, manifest.entityExternalIdPattern);
    requireFittingMetadata(manifest.entityMetadata, record.metadata as Fields, '/metadata');
  }
}

async function manifestFor(
  { overlay, manifestOf }: RuleContext,
  kind: ScriptKind,
  record: ScriptRecord,
): Promise<ProviderManifest | null> {
  if (kind === 'integration') return manifestOf(String(record.provider_type));
  if (kind !== 'device' && kind !== 'entity') return null;
  const device = kind === 'entity' ? await overlay.locate('device', String(record.device_id)) : null;
  const integrationId = kind === 'entity' ? device?.integrationId : record.integration_id;
  const integration = await overlay.locate('integration', String(integrationId));
  return integration?.providerType ? manifestOf(integration.providerType) : null;
}

/** Where an organization may be put: below one that the caller administers. */
export async function requireOrgParent(
  { overlay, principal, rootOrgId }: RuleContext,
  fields: Fields,
): Promise<OrgScope> {
  const parent = await overlay.scopeOf(String(fields.parent_id ?? rootOrgId));
  if (fields.parent_id === undefined && (parent === null || !hasRole(principal, parent, 'admin')))
    throw new AppError('forbidden', 'name a parent_id: only platform administrators create below the root');
  if (parent === null || parent.deletedAt !== null || !isMember(principal, parent))
    throw new AppError('not_found', 'not found');
  if (!hasRole(principal, parent, 'admin'))
    throw new AppError('forbidden', 'this needs the role admin in the parent organization');
  return parent;
}

export async function requireMove(context: RuleContext, org: OrgScope, fields: Fields): Promise<void> {
  if (fields.parent_id === undefined) return;
  if (org.path.length === 1) throw new AppError('forbidden', 'the root organization can not move');
  requireRole(context.principal, org, 'admin');
  const parent = await requireOrgParent(context, fields);
  if (parent.path.includes(org.id))
    throw new AppError('org_cycle', 'an organization can not be below itself');
}

/** Who gives roles must hold them, everywhere they are given. */
export async function requireRoles(context: RuleContext, roles: Fields): Promise<void> {
  const { principal, overlay, rootOrgId } = context;
  if (Object.keys(roles).length === 0 && !hasRole(principal, { id: rootOrgId, path: [rootOrgId] }, 'admin'))
    throw new AppError('forbidden', 'only a platform administrator may create a user without roles');
  for (const [orgId, names] of Object.entries(roles)) {
    const org = await overlay.scopeOf(orgId);
    if (org === null || org.deletedAt !== null)
      throw new AppError('forbidden', `there is no organization ${orgId}`);
    requireGrantable(principal, org, parseRoles(names as string[], `/${orgId}`));
  }
}
