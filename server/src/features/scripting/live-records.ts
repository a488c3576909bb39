import type { ImageKind } from '@lintel/contract/images';
import type { OperationId } from '@lintel/contract/operations';
import type { ScriptKind } from '@lintel/contract/scripting';
import type { Egress } from '../../egress/egress.ts';
import type { OperationPerformer, OperationStep } from '../../http/perform-operation.ts';
import { AppError, notFound } from '../../kernel/app-error.ts';
import { hasRole, isMember, principalOf } from '../../kernel/call.ts';
import type { Fields, ReadOptions } from './script-fields.ts';
import { fetchImage } from './script-images.ts';
import { kindTable } from './script-kinds.ts';
import { foreignParent, homeOf, type OrgDeps, orgOfNewUser, orgOfUser, roleOf } from './script-orgs.ts';
import type { ScriptCaller, ScriptRecord, ScriptRecords } from './script-records.ts';
import { integrationIdsOf, subtreeOf } from './scripting.store.ts';

export interface RecordDeps extends OrgDeps {
  readonly performer: OperationPerformer;
  readonly egress: Egress;
}

export interface LiveRecords extends ScriptRecords {
  /** As a part of what another operation shows, so by the role of that one. */
  findFor(kind: ScriptKind, id: string, operation: OperationId): Promise<ScriptRecord | null>;
  hasImageFor(kind: ImageKind, id: string, operation: OperationId): Promise<boolean>;
}

/** The operations that callers have by HTTP, in the organization that each step is about. */
export function createLiveRecords(deps: RecordDeps, caller: ScriptCaller): LiveRecords {
  const context = { ...deps, caller };
  const change = (step: 'update' | 'delete' | 'purge', kind: ScriptKind, id: string, body?: Fields) =>
    changeRecord(context, kindTable[kind].operations[step], kind, id, body);
  return {
    create: (kind, fields) => createRecord(context, kind, fields),
    find: (kind, id, options) => find(context, kind, id, options),
    findFor: (kind, id, operation) => read(context, kind, id, operation),
    update: (kind, id, patch) => change('update', kind, id, patch),
    remove: (kind, id) => change('delete', kind, id),
    purge: (kind, id) => change('purge', kind, id),
    list: (kind, options) => listRecords(context, kind, options.orgId ?? caller.org.id, options),
    act: (id, actionId, payload) =>
      onRecord(context, 'execute_entity_action', 'entity', id, {
        params: { id, action_id: actionId },
        body: payload,
      }) as Promise<ScriptRecord>,
    hasImageFor: (kind, id, operation) => hasImage(context, kind, id, operation),
    hasImage: (kind, id) => hasImage(context, kind, id, `get_${kind}_image`),
    uploadImage: (kind, id, url) => uploadImage(context, kind, id, url),
  };
}

type Context = RecordDeps & { readonly caller: ScriptCaller };
type StepInput = Pick<OperationStep, 'params' | 'query' | 'body' | 'roleOf'>;

const perform = (context: Context, id: OperationId, org: string | null, input: StepInput) =>
  context.performer.perform({ id, call: context.caller.call, org, ...input });

/** A record of an organization that the caller has no role in is not there. */
export async function orgOfRecord(
  context: OrgDeps & { readonly caller: ScriptCaller },
  operation: OperationId,
  kind: ScriptKind,
  id: string,
): Promise<string | null> {
  const principal = principalOf(context.caller.call);
  if (kind === 'user') return orgOfUser(context, principal, id, operation);
  const home = await homeOf(context, kind, id);
  const org = home === null ? null : await context.orgScope(home.orgId);
  return org !== null && isMember(principal, org) ? org.id : null;
}

async function onRecord(
  context: Context,
  operation: OperationId,
  kind: ScriptKind,
  id: string,
  input: StepInput,
): Promise<unknown> {
  const org = await orgOfRecord(context, input.roleOf ?? operation, kind, id);
  if (org === null) throw notFound();
  return perform(context, operation, org, { params: { id }, ...input });
}

async function createRecord(context: Context, kind: ScriptKind, fields: Fields): Promise<ScriptRecord> {
  const { operations } = kindTable[kind];
  const org = await orgOfNew(context, kind, fields);
  return (await perform(context, operations.create, org, { body: fields })) as ScriptRecord;
}

/** Where a new record would be: null for an organization, which is in none. */
async function orgOfNew(context: Context, kind: ScriptKind, fields: Fields): Promise<string | null> {
  const { caller } = context;
  switch (kind) {
    case 'org':
      return null;
    case 'user':
      return orgOfNewUser(context, principalOf(caller.call), caller.org, (fields.roles ?? {}) as Fields);
    case 'integration':
    case 'device':
      return String(fields.org_id);
    case 'zone':
      return orgOfParent(context, 'integration', 'integration_id', fields);
    case 'entity':
      return orgOfParent(context, 'device', 'device_id', fields);
  }
}

async function orgOfParent(
  context: Context,
  kind: ScriptKind,
  field: string,
  fields: Fields,
): Promise<string> {
  const org = await orgOfRecord(context, kindTable[kind].operations.get, kind, String(fields[field]));
  if (org === null) throw foreignParent(field, kind);
  return org;
}

async function changeRecord(
  context: Context,
  operation: OperationId,
  kind: ScriptKind,
  id: string,
  body: Fields | undefined,
): Promise<ScriptRecord> {
  return (await onRecord(context, operation, kind, id, { body })) as ScriptRecord;
}

async function find(
  context: Context,
  kind: ScriptKind,
  id: string,
  { includeDeleted, onlyDeleted }: ReadOptions,
): Promise<ScriptRecord | null> {
  const record = await read(context, kind, id, kindTable[kind].operations.get);
  const isDeleted = record !== null && 'deleted_at' in record;
  return (isDeleted && !includeDeleted) || (!isDeleted && onlyDeleted) ? null : record;
}

async function read(
  context: Context,
  kind: ScriptKind,
  id: string,
  roleOf: OperationId,
): Promise<ScriptRecord | null> {
  const query = { include_deleted: true };
  try {
    const { get } = kindTable[kind].operations;
    return (await onRecord(context, get, kind, id, { query, roleOf })) as ScriptRecord;
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return null;
    throw error;
  }
}

const pageSize = 200;
/** As long as an array of a script can be. */
const maxListed = 100_000;

async function listRecords(
  context: Context,
  kind: ScriptKind,
  orgId: string,
  options: ReadOptions,
): Promise<ScriptRecord[]> {
  const items: ScriptRecord[] = [];
  const collect = async (operation: OperationId, org: string | null, input: StepInput = {}) => {
    for (let offset = 0; ; offset += pageSize) {
      const query = { ...queryOf(options), ...input.query, limit: pageSize, offset };
      const page = (await perform(context, operation, org, { ...input, query })) as { items: ScriptRecord[] };
      items.push(...page.items);
      if (items.length > maxListed)
        throw new AppError('validation_error', `the list is longer than ${maxListed}`);
      if (page.items.length < pageSize) return;
    }
  };
  if (kind === 'org') await collect('list_orgs', null);
  else if (kind === 'user') await listUsers(context, orgId, collect);
  else await listBelow(context, kind, orgId, options, collect);
  return items;
}

type Collect = (operation: OperationId, org: string | null, input?: StepInput) => Promise<void>;

const queryOf = ({ includeDeleted, onlyDeleted }: ReadOptions) => ({
  include_deleted: includeDeleted,
  only_deleted: onlyDeleted,
});

async function listUsers(context: Context, orgId: string, collect: Collect): Promise<void> {
  const org = await context.orgScope(orgId);
  const recursive = org !== null && hasRole(principalOf(context.caller.call), org, 'admin');
  await collect('list_org_users', orgId, { params: { org_id: orgId }, query: { recursive } });
}

const listOperations = {
  integration: 'list_integrations',
  device: 'list_devices',
  entity: 'list_entities',
} as const;

/** In the organization, which the caller must be allowed to, and in those below it as far as they are. */
async function listBelow(
  context: Context,
  kind: 'integration' | 'device' | 'entity' | 'zone',
  orgId: string,
  { includeDeleted }: ReadOptions,
  collect: Collect,
): Promise<void> {
  const operation = kind === 'zone' ? 'list_integration_zones' : listOperations[kind];
  await context.performer.require({ id: operation, call: context.caller.call, org: orgId });
  const role = roleOf(operation);
  const principal = principalOf(context.caller.call);
  // As the service: what is below an organization is other organizations.
  const orgs = await context.db.asService((tx) => subtreeOf(tx, orgId));
  for (const org of orgs.filter((each) => role === null || hasRole(principal, each, role))) {
    if (kind !== 'zone') await collect(operation, org.id);
    else await listZones(context, org.id, includeDeleted, collect);
  }
}

async function listZones(
  { db }: Context,
  orgId: string,
  includeDeleted: boolean,
  collect: Collect,
): Promise<void> {
  const ids = await db.inOrg(orgId, (tx) => integrationIdsOf(tx, orgId, includeDeleted));
  for (const id of ids) await collect('list_integration_zones', orgId, { params: { id } });
}

async function hasImage(
  context: Context,
  kind: ImageKind,
  id: string,
  roleOf: OperationId,
): Promise<boolean> {
  return (await onRecord(context, `get_${kind}_image`, kind, id, { roleOf })) !== undefined;
}

async function uploadImage(context: Context, kind: ImageKind, id: string, url: string): Promise<boolean> {
  const operation = `post_${kind}_image` as const;
  const org = await orgOfRecord(context, operation, kind, id);
  if (org === null) throw notFound();
  // By the role that an upload needs, before anything is fetched: nobody is asked in the name of those who may not.
  if (await hasImage(context, kind, id, operation)) return false;
  const body = await fetchImage(context.egress, url, operation);
  await perform(context, operation, org, { params: { id }, body });
  return true;
}
