import type { LocalizedText } from '@lintel/contract/common';
import type { ImageKind } from '@lintel/contract/images';
import type { OperationId } from '@lintel/contract/operations';
import type { ScriptKind } from '@lintel/contract/scripting';
import { AppError, notFound } from '../../kernel/app-error.ts';
import { entityLimit, hasRole, isMember, type OrgScope, principalOf } from '../../kernel/call.ts';
import { type Clock, toRfc3339 } from '../../kernel/clock.ts';
import type { StampsOf } from '../../kernel/lifecycle.ts';
import { requireUnlimited } from '../../kernel/resource-input.ts';
import { ulid } from '../../kernel/ulid.ts';
import type { LiveRecords, RecordDeps } from './live-records.ts';
import { planAction } from './plan-actions.ts';
import { createOverlay, isDeleted, type Overlay, type PartedKind } from './plan-overlay.ts';
import { isCounted, requireCapacity } from './plan-quotas.ts';
import {
  type RuleContext,
  requireAbove,
  requireFitting,
  requireMove,
  requireOrgParent,
  requireParent,
  requireRoles,
} from './plan-rules.ts';
import { newRecord, storedFields } from './plan-shapes.ts';
import { plannedUserFields, requireWholeUser } from './plan-users.ts';
import type { Fields, ReadOptions } from './script-fields.ts';
import { requireFetchable } from './script-images.ts';
import { kindTable } from './script-kinds.ts';
import { orgOfNewUser, orgOfUser, roleOf } from './script-orgs.ts';
import type { ScriptCaller, ScriptRecord, ScriptRecords } from './script-records.ts';

export interface PlanDeps extends RecordDeps, Pick<RuleContext, 'manifestOf'> {
  readonly clock: Clock;
  readonly providerLabel: (providerType: string) => LocalizedText;
  readonly stampsOf: StampsOf;
  /** As it is stored; throws what is none. */
  readonly parseEmail: (text: string) => string;
}

export interface PlanContext extends PlanDeps {
  readonly caller: ScriptCaller;
  readonly live: LiveRecords;
  readonly overlay: Overlay;
}

/**
 * Reads what there is, and keeps what the script would change beside it, where its later steps find it. Roles, fields
 * and the rules of providers are asked as by the operations; what only a commit can tell (external ids that are taken) is not.
 */
export function createPlannedRecords(deps: PlanDeps, caller: ScriptCaller, live: LiveRecords): ScriptRecords {
  const context: PlanContext = { ...deps, caller, live, overlay: createOverlay(deps) };
  const images = new Set<string>();
  return {
    create: (kind, fields) => create(context, kind, fields),
    find: (kind, id, options) => find(context, kind, id, options),
    update: (kind, id, patch) => update(context, kind, id, patch),
    remove: (kind, id) => remove(context, kind, id),
    purge: (kind, id) => purge(context, kind, id),
    list: (kind, options) => list(context, kind, options),
    act: (id, actionId, payload) => planAction(context, id, actionId, payload, admitOn),
    hasImage: async (kind, id) =>
      images.has(`${kind} ${id}`) || (await hasImage(context, kind, id, `get_${kind}_image`)),
    uploadImage: async (kind, id, url) => {
      const has = await hasImage(context, kind, id, `post_${kind}_image`);
      if (has || images.has(`${kind} ${id}`)) return false;
      await requireFetchable(deps.egress, url);
      images.add(`${kind} ${id}`);
      return true;
    },
  };
}

const rulesOf = (context: PlanContext): RuleContext => ({
  ...context,
  principal: principalOf(context.caller.call),
});

const nowOf = ({ clock }: PlanContext): string => toRfc3339(clock.now());

async function create(context: PlanContext, kind: ScriptKind, fields: Fields): Promise<ScriptRecord> {
  const { caller, performer, overlay, rootOrgId, providerLabel } = context;
  const rules = rulesOf(context);
  const org = await orgOfNew(context, rules, kind, fields);
  const operation = kindTable[kind].operations.create;
  await performer.admit({ id: operation, call: caller.call, org, body: fields });
  if (kind === 'user') context.parseEmail(String(fields.email));
  if (kind === 'user') await requireRoles(rules, (fields.roles ?? {}) as Fields);
  else if (kind !== 'org') requireUnlimited(rules.principal);
  const id = typeof fields.id === 'string' ? fields.id : ulid();
  if (typeof fields.id === 'string' && (await exists(context, kind, id)))
    throw new AppError('already_exists', 'this id is taken');
  const stored = kind === 'user' ? await plannedUserFields(context, id, fields) : fields;
  const shape = { id, now: nowOf(context), defaultLocale: org.defaultLocale, rootOrgId, providerLabel };
  const record = newRecord(kind, stored, shape);
  await requireParents(rules, kind, fields, record, org.id);
  await requireFitting(rules, kind, fields, record);
  if (isCounted(kind)) await requireCapacity(context, kind, org.id);
  overlay.put({ kind, id, orgId: kind === 'org' ? id : org.id, record, isNew: true });
  return record;
}

async function exists(context: PlanContext, kind: ScriptKind, id: string): Promise<boolean> {
  if (context.overlay.get(kind, id)?.record) return true;
  if (kind !== 'user') return (await context.overlay.locate(kind, id)) !== null;
  return (await context.live.findFor('user', id, 'create_user')) !== null;
}

/** The organization whose role is asked for; the parent's for a new organization. */
async function orgOfNew(
  context: PlanContext,
  rules: RuleContext,
  kind: ScriptKind,
  fields: Fields,
): Promise<OrgScope> {
  const { overlay, caller } = context;
  if (kind === 'org') return requireOrgParent(rules, fields);
  const id = await orgIdOfNew(context, rules, kind, fields);
  const org = await overlay.scopeOf(id);
  if (org === null || org.deletedAt !== null || !isMember(principalOf(caller.call), org))
    throw new AppError('forbidden', 'the caller has no role in this organization');
  return org;
}

async function orgIdOfNew(
  context: PlanContext,
  rules: RuleContext,
  kind: Exclude<ScriptKind, 'org'>,
  fields: Fields,
): Promise<string> {
  const { caller, overlay } = context;
  const deps = { ...context, orgScope: overlay.scopeOf };
  switch (kind) {
    case 'user':
      return orgOfNewUser(deps, rules.principal, caller.org, (fields.roles ?? {}) as Fields);
    case 'integration':
    case 'device':
      return String(fields.org_id);
    case 'zone':
      return (await requireParent(rules, 'integration', 'integration_id', fields, null))?.orgId ?? '';
    case 'entity':
      return (await requireParent(rules, 'device', 'device_id', fields, null))?.orgId ?? '';
  }
}

async function requireParents(
  rules: RuleContext,
  kind: ScriptKind,
  fields: Fields,
  record: ScriptRecord,
  orgId: string,
): Promise<void> {
  if (kind === 'device') await requireParent(rules, 'integration', 'integration_id', fields, orgId);
  if (kind === 'entity') await requireParent(rules, 'zone', 'zone_id', fields, orgId);
  if (kind !== 'zone') return;
  const parent = await requireParent(rules, 'zone', 'parent_zone_id', fields, orgId);
  if (parent !== null && parent.integrationId !== record.integration_id)
    throw new AppError('validation_error', '/parent_zone_id: is not a zone of this integration');
  await requireAbove(rules, String(record.id), fields.parent_zone_id);
}

/** The organization of a record that is there, or would be, after the caller's role in it was asked for. */
async function admitOn(
  context: PlanContext,
  operation: OperationId,
  kind: ScriptKind,
  id: string,
  body?: unknown,
): Promise<OrgScope> {
  const { caller, performer, overlay } = context;
  const principal = principalOf(caller.call);
  const orgId = await orgIdOf(context, operation, kind, id);
  const org = orgId === null ? null : await overlay.scopeOf(orgId);
  if (org === null || !isMember(principal, org)) throw notFound();
  await performer.admit({ id: operation, call: caller.call, org, params: { id }, body });
  return org;
}

async function orgIdOf(
  context: PlanContext,
  operation: OperationId,
  kind: ScriptKind,
  id: string,
): Promise<string | null> {
  const planned = context.overlay.get(kind, id);
  if (planned !== undefined) return planned.record === null ? null : planned.orgId;
  if (kind === 'user') return orgOfUser(context, principalOf(context.caller.call), id, operation);
  return (await context.overlay.locate(kind, id))?.orgId ?? null;
}

async function current(
  context: PlanContext,
  operation: OperationId,
  kind: ScriptKind,
  id: string,
): Promise<ScriptRecord> {
  const planned = context.overlay.get(kind, id);
  const record = planned === undefined ? await context.live.findFor(kind, id, operation) : planned.record;
  if (record === null) throw notFound();
  return record;
}

/** The record before the change, and where it is. */
async function target(
  context: PlanContext,
  step: 'update' | 'delete' | 'purge',
  kind: ScriptKind,
  id: string,
  body?: Fields,
): Promise<{ org: OrgScope; record: ScriptRecord }> {
  const operation = kindTable[kind].operations[step];
  const principal = principalOf(context.caller.call);
  const limit = entityLimit(principal);
  if (kind === 'entity' && limit !== null && !limit.includes(id)) throw notFound();
  const org = await admitOn(context, operation, kind, id, body);
  if (kind === 'zone' || kind === 'device' || kind === 'integration') requireUnlimited(principal);
  const record = await current(context, operation, kind, id);
  if (step !== 'purge' && isDeleted(record)) throw notFound();
  return { org, record };
}

async function update(
  context: PlanContext,
  kind: ScriptKind,
  id: string,
  patch: Fields,
): Promise<ScriptRecord> {
  const rules = rulesOf(context);
  const { org, record } = await target(context, 'update', kind, id, patch);
  if (kind === 'org') await requireMove(rules, org, patch);
  const stored = kind === 'user' ? await plannedUserFields(context, id, patch) : patch;
  if (kind === 'user') await requireWholeUser(context, org, record, stored.email);
  const after = {
    ...record,
    ...storedFields(kind, stored, org.defaultLocale),
    updated_at: nowOf(context),
  };
  await requireParents(rules, kind, kind === 'device' ? {} : patch, after, org.id);
  await requireFitting(rules, kind, patch, after);
  context.overlay.put({ kind, id, orgId: org.id, record: after });
  return after;
}

const isParted = (kind: ScriptKind): kind is PartedKind => kind !== 'user' && kind !== 'entity';

async function requireNoParts(
  { overlay }: PlanContext,
  kind: ScriptKind,
  id: string,
  which: 'live' | 'all',
): Promise<void> {
  if (isParted(kind) && (await overlay.hasParts(kind, id, which)))
    throw new AppError('has_children', `the ${kind} still has parts: remove them first`);
}

function requireNotRoot({ rootOrgId }: PlanContext, id: string): void {
  if (id === rootOrgId) throw new AppError('forbidden', 'the root organization can not be removed');
}

/** With the time when it would be gone for good. */
function deletedStamps({ clock, stampsOf }: PlanContext, record: ScriptRecord): ScriptRecord {
  const createdAt = new Date(String(record.created_at));
  return { ...stampsOf({ createdAt, updatedAt: clock.now(), deletedAt: clock.now() }) };
}

async function remove(context: PlanContext, kind: ScriptKind, id: string): Promise<ScriptRecord> {
  const { org, record } = await target(context, 'delete', kind, id);
  requireNotRoot(context, id);
  await requireNoParts(context, kind, id, 'live');
  const after = { ...record, ...deletedStamps(context, record) };
  context.overlay.put({ kind, id, orgId: org.id, record: after });
  return after;
}

async function purge(context: PlanContext, kind: ScriptKind, id: string): Promise<ScriptRecord> {
  const { org, record } = await target(context, 'purge', kind, id);
  requireNotRoot(context, id);
  await requireNoParts(context, kind, id, kind === 'zone' ? 'live' : 'all');
  context.overlay.put({ kind, id, orgId: org.id, record: null });
  return record;
}

const fits = (record: ScriptRecord, { includeDeleted, onlyDeleted }: ReadOptions): boolean =>
  isDeleted(record) ? includeDeleted : !onlyDeleted;

async function find(
  context: PlanContext,
  kind: ScriptKind,
  id: string,
  options: ReadOptions,
): Promise<ScriptRecord | null> {
  const planned = context.overlay.get(kind, id);
  if (planned === undefined) return context.live.find(kind, id, options);
  if (planned.record === null) return null;
  await admitOn(context, kindTable[kind].operations.get, kind, id);
  return fits(planned.record, options) ? planned.record : null;
}

const listOperations: Readonly<Record<ScriptKind, OperationId>> = {
  user: 'list_org_users',
  org: 'list_orgs',
  integration: 'list_integrations',
  zone: 'list_integration_zones',
  device: 'list_devices',
  entity: 'list_entities',
};

async function list(context: PlanContext, kind: ScriptKind, options: ReadOptions): Promise<ScriptRecord[]> {
  const { overlay, live, caller } = context;
  const base = options.orgId ?? caller.org.id;
  const isNew = overlay.get('org', base)?.isNew === true;
  const everything = { ...options, includeDeleted: true, onlyDeleted: false };
  const stored = isNew ? [] : await live.list(kind, everything);
  const untouched = stored.filter(({ id }) => overlay.get(kind, String(id)) === undefined);
  const planned: ScriptRecord[] = [];
  for (const { orgId, record } of overlay.all(kind))
    if (record !== null && (await isListed(context, kind, orgId, base))) planned.push(record);
  return [...untouched, ...planned].filter((record) => fits(record, options));
}

async function isListed(
  context: PlanContext,
  kind: ScriptKind,
  orgId: string,
  base: string,
): Promise<boolean> {
  const org = await context.overlay.scopeOf(orgId);
  if (org === null) return false;
  const principal = principalOf(context.caller.call);
  const role = roleOf(listOperations[kind]);
  if (kind === 'org') return isMember(principal, org);
  return org.path.includes(base) && (role === null || hasRole(principal, org, role));
}

async function hasImage(
  context: PlanContext,
  kind: ImageKind,
  id: string,
  operation: OperationId,
): Promise<boolean> {
  const planned = context.overlay.get(kind, id);
  if (planned === undefined) return context.live.hasImageFor(kind, id, operation);
  await admitOn(context, operation, kind, id);
  if (planned.record === null || isDeleted(planned.record)) throw notFound();
  return !planned.isNew && context.live.hasImageFor(kind, id, operation);
}
