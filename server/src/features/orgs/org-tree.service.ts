import { originOf, recordEvent } from '../../audit/audit.store.ts';
import type { Database, Tx } from '../../db/database.ts';
import { AppError, invalid, notFound } from '../../kernel/app-error.ts';
import { type Call, hasRole, type OrgScope, principalOf, requireRole } from '../../kernel/call.ts';
import { cleanText, parseLocalizedText, pickText } from '../../kernel/text.ts';
import { ulid } from '../../kernel/ulid.ts';
import {
  hasOnlyHereUsers,
  hasParts,
  insertOrg,
  lockOrg,
  lockTree,
  moveSubtree,
  purgeOrg,
  setDeleted,
  subtreeHeight,
  updateOrg,
} from './org-tree.store.ts';
import { changedFields, judgePlacement, maxDepth, type PlacementRefusal } from './orgs.rules.ts';
import { type Described, describeOrg } from './orgs.service.ts';
import { findOrg, type Org } from './orgs.store.ts';

export interface OrgTreeDeps {
  readonly db: Database;
  readonly rootOrgId: string;
}

export interface CreateOrgInput {
  readonly name: unknown;
  readonly description?: string | null;
  readonly id?: string | null;
  readonly parent_id?: string | null;
}

/** Absent keeps, null clears. */
export interface UpdateOrgInput {
  readonly name?: unknown;
  readonly description?: string | null;
  readonly parent_id?: string | null;
}

export interface OrgTreeService {
  create(call: Call, input: CreateOrgInput): Promise<Described<Org>>;
  update(call: Call, org: OrgScope, input: UpdateOrgInput): Promise<Described<Org>>;
  remove(call: Call, org: OrgScope): Promise<Described<Org>>;
  restore(call: Call, org: OrgScope): Promise<Described<Org>>;
  purge(call: Call, org: OrgScope): Promise<Described<Org>>;
}

export function createOrgTreeService(deps: OrgTreeDeps): OrgTreeService {
  const { db } = deps;
  return {
    create: (call, input) => changeTree(db, (tx) => createOrg(deps, tx, call, input)),
    update: (call, org, input) =>
      input.parent_id === undefined
        ? db.inOrg(org.id, (tx) => changeOrg(tx, call, org.id, input))
        : changeTree(db, (tx) => changeOrg(tx, call, org.id, input)),
    remove: (call, org) => changeTree(db, (tx) => removeOrg(tx, call, org.id)),
    restore: (call, org) => changeTree(db, (tx) => restoreOrg(tx, call, org.id)),
    purge: (call, org) => changeTree(db, (tx) => purge(tx, call, org.id)),
  };
}

/** As the service: a change of the tree reads and writes parents, descendants and the members' other organizations. */
function changeTree<T>(db: Database, work: (tx: Tx) => Promise<T>): Promise<T> {
  return db.asService(async (tx) => {
    await lockTree(tx);
    return work(tx);
  });
}

async function createOrg(
  deps: OrgTreeDeps,
  tx: Tx,
  call: Call,
  input: CreateOrgInput,
): Promise<Described<Org>> {
  const principal = principalOf(call);
  const id = input.id ?? ulid();
  const wanted = await findOrg(tx, input.parent_id ?? deps.rootOrgId);
  const placement = judgePlacement(principal, wanted, { rootId: null, height: 1 });
  if (!placement.ok) throw (input.parent_id ?? null) === null ? needsParent() : refusalOf(placement.reason);
  const { parent } = placement;
  const name = parseName(input.name, parent.defaultLocale);
  const description = parseDescription(input.description ?? null);
  const org = await insertOrg(tx, { id, parent, name, description });
  if (org === null) throw new AppError('already_exists', 'this id is taken');
  await record(tx, call, 'org.created', org, { details: { parent_id: parent.id } });
  return describeOrg(tx, principal, org);
}

async function changeOrg(tx: Tx, call: Call, id: string, input: UpdateOrgInput): Promise<Described<Org>> {
  const org = await lockReachable(tx, call, id, 'orgs:update');
  if (org.deletedAt !== null) throw notFound();
  const after = {
    id,
    name: input.name === undefined ? org.name : parseName(input.name, org.defaultLocale),
    description: input.description === undefined ? org.description : parseDescription(input.description),
  };
  const changed = changedFields(org, after);
  if (changed.length > 0) await updateOrg(tx, after);
  const moved = await moveIfAsked(tx, call, org, input.parent_id);
  const details = { changed: moved === null ? changed : [...changed, 'parent_id'], ...moved };
  await record(tx, call, 'org.updated', { ...org, name: after.name }, { details });
  return describeFresh(tx, call, id);
}

/** What the event says about the move; null when the organization stays where it is. */
async function moveIfAsked(tx: Tx, call: Call, org: Org, parentId: string | null | undefined) {
  if (parentId === undefined || (parentId !== null && parentId === org.parentId)) return null;
  if (parentId === null) throw invalid('/parent_id', 'must be the id of an organization');
  if (org.parentId === null) throw new AppError('forbidden', 'the root organization can not move');
  const principal = principalOf(call);
  // A move decides whose administrators the organization gets, so the right to edit it is not enough.
  requireRole(principal, org, 'admin');
  const height = await subtreeHeight(tx, org);
  const placement = judgePlacement(principal, await findOrg(tx, parentId), { rootId: org.id, height });
  if (!placement.ok) throw refusalOf(placement.reason);
  await moveSubtree(tx, org, placement.parent);
  return { old_parent_id: org.parentId, new_parent_id: placement.parent.id };
}

async function removeOrg(tx: Tx, call: Call, id: string): Promise<Described<Org>> {
  const org = await lockReachable(tx, call, id, 'orgs:delete');
  if (org.deletedAt !== null) throw notFound();
  await requireRemovable(tx, org, 'live');
  await setDeleted(tx, id, true);
  await record(tx, call, 'org.deleted', org);
  return describeFresh(tx, call, id);
}

async function restoreOrg(tx: Tx, call: Call, id: string): Promise<Described<Org>> {
  const org = await lockReachable(tx, call, id, 'orgs:delete');
  if (org.deletedAt === null) throw new AppError('not_deleted', 'the organization is not deleted');
  const parent = org.parentId === null ? null : await findOrg(tx, org.parentId);
  if (parent !== null && parent.deletedAt !== null) {
    throw new AppError('parent_deleted', 'the parent organization is deleted: restore it first');
  }
  await setDeleted(tx, id, false);
  await record(tx, call, 'org.restored', org);
  return describeFresh(tx, call, id);
}

async function purge(tx: Tx, call: Call, id: string): Promise<Described<Org>> {
  const org = await lockReachable(tx, call, id, 'admin');
  const parentId = await requireRemovable(tx, org, 'all');
  const described = await describeOrg(tx, principalOf(call), org);
  await purgeOrg(tx, id);
  // In the parent: nobody can read the events of an organization that is gone.
  await record(tx, call, 'org.purged', org, { orgId: parentId });
  return described;
}

async function lockReachable(
  tx: Tx,
  call: Call,
  id: string,
  role: 'admin' | 'orgs:update' | 'orgs:delete',
): Promise<Org> {
  const org = await lockOrg(tx, id);
  // Judged again under the lock: it may have been moved out of the caller's reach, or purged, since the edge looked.
  if (org === null || !hasRole(principalOf(call), org, role)) throw notFound();
  return org;
}

/** Returns the parent's id: only an organization with a parent can go. */
async function requireRemovable(tx: Tx, org: Org, parts: 'live' | 'all'): Promise<string> {
  if (org.parentId === null) throw new AppError('forbidden', 'the root organization can not be removed');
  if (await hasParts(tx, org.id, parts)) {
    throw new AppError('has_children', 'remove its organizations and integrations first');
  }
  if (await hasOnlyHereUsers(tx, org.id)) {
    throw new AppError('would_orphan_users', 'some users belong to this organization only');
  }
  return org.parentId;
}

type OrgEvent = 'org.created' | 'org.updated' | 'org.deleted' | 'org.restored' | 'org.purged';

async function record(
  tx: Tx,
  call: Call,
  type: OrgEvent,
  org: Org,
  extra: { orgId?: string; details?: Record<string, unknown> } = {},
): Promise<void> {
  const resource = { type: 'org', id: org.id, name: pickText(org.name, org.defaultLocale) };
  await recordEvent(tx, originOf(call), { orgId: org.id, type, resource, ...extra });
}

async function describeFresh(tx: Tx, call: Call, id: string): Promise<Described<Org>> {
  const org = await findOrg(tx, id);
  if (org === null) throw notFound();
  return describeOrg(tx, principalOf(call), org);
}

function needsParent(): AppError {
  return new AppError('forbidden', 'name a parent_id: only platform administrators create below the root');
}

function refusalOf(reason: PlacementRefusal): AppError {
  switch (reason) {
    case 'forbidden':
      return new AppError('forbidden', 'this needs the role admin in the parent organization');
    case 'cycle':
      return new AppError('org_cycle', 'an organization can not be below itself');
    case 'too_deep':
      return new AppError('org_cycle', `the tree may have ${maxDepth} levels`);
    case 'personal':
      return invalid('/parent_id', 'is a personal organization, which has no children');
    case 'not_found':
      return notFound();
  }
}

function parseName(input: unknown, defaultLocale: string): Record<string, string> {
  const name = parseLocalizedText(input, { defaultLocale, maxLength: 200 });
  if (!name.ok) throw invalid(`/name${name.path}`, name.reason);
  return name.value;
}

function parseDescription(input: string | null): string | null {
  if (input === null) return null;
  const description = cleanText(input, { maxLength: 2000 });
  if (!description.ok) throw invalid('/description', description.reason);
  return description.text;
}
