import type { CreateEntityRequest, PatchEntityRequest, UpdateEntityRequest } from '@lintel/contract/entities';
import { originOf, recordEvent } from '../../audit/audit.store.ts';
import type { Database, Tx } from '../../db/database.ts';
import { refuseTakenExternalId } from '../../db/external-ids.ts';
import { type DeviceParent, holdDevice, holdZone } from '../../db/parents.ts';
import { AppError, invalid, notFound } from '../../kernel/app-error.ts';
import { type Call, entityLimit, type OrgScope, principalOf } from '../../kernel/call.ts';
import { changedFields, parseExternalId, requireUnlimited } from '../../kernel/resource-input.ts';
import { ulid } from '../../kernel/ulid.ts';
import { requireFittingExternalId, requireFittingMetadata } from '../../providers/record-rules.ts';
import { editMetadata, mergeMetadata, parseEntityName } from './entities.rules.ts';
import {
  deviceIdOf,
  type Entity,
  type EntityFields,
  findEntity,
  insertEntity,
  lockEntity,
  purgeEntity,
  setEntityDeleted,
  updateEntity,
} from './entities.store.ts';
import { type PortalDeps, withPortals } from './portal-entities.ts';

/** `manifestOf` is null for a provider type this build does not have: then its rules are unknown and nothing is refused. */
export interface EntityEditingDeps extends PortalDeps {
  readonly db: Database;
}

export interface EntityEditingService {
  create(call: Call, org: OrgScope, input: CreateEntityRequest): Promise<Entity>;
  update(call: Call, org: OrgScope, id: string, input: UpdateEntityRequest): Promise<Entity>;
  /** Merges metadata. */
  patch(call: Call, org: OrgScope, id: string, input: PatchEntityRequest): Promise<Entity>;
  remove(call: Call, org: OrgScope, id: string): Promise<Entity>;
  restore(call: Call, org: OrgScope, id: string): Promise<Entity>;
  purge(call: Call, org: OrgScope, id: string): Promise<Entity>;
}

export function createEntityEditingService(deps: EntityEditingDeps): EntityEditingService {
  return {
    create: (call, org, input) => createEntity(deps, call, org, input),
    update: (call, org, id, input) =>
      changeEntity(
        deps,
        call,
        org,
        id,
        editing(deps, org, fieldsOf(input), ({ metadata }) =>
          editMetadata(metadata, { metadata: input.metadata, channelIndex: input.channel_index }),
        ),
      ),
    patch: (call, org, id, input) =>
      changeEntity(
        deps,
        call,
        org,
        id,
        editing(deps, org, {}, ({ metadata }) => mergeMetadata(metadata, input.metadata)),
      ),
    remove: (call, org, id) => changeEntity(deps, call, org, id, deleting(org)),
    restore: (call, org, id) => changeEntity(deps, call, org, id, restoring(org)),
    purge: (call, org, id) => changeEntity(deps, call, org, id, purging(org)),
  };
}

async function createEntity(
  deps: EntityEditingDeps,
  call: Call,
  org: OrgScope,
  input: CreateEntityRequest,
): Promise<Entity> {
  requireUnlimited(principalOf(call));
  const fields: EntityFields = {
    id: ulid(),
    deviceId: input.device_id,
    zoneId: input.zone_id ?? null,
    entityType: input.entity_type,
    name: parseEntityName(input.name ?? null),
    externalId: parseExternalId(input.external_id ?? null),
    metadata: editMetadata({}, { metadata: input.metadata, channelIndex: input.channel_index }),
  };
  return deps.db.inOrg(org.id, async (tx) => {
    const device = await holdDevice(tx, org.id, fields.deviceId);
    if (!device?.isLive) throw invalid('/device_id', 'is not a device of this organization');
    await requireZone(tx, org.id, fields.zoneId);
    requireFitting(deps, device, fields);
    await refuseTakenExternalId(insertEntity(tx, org.id, fields));
    const entity = await shown(deps, tx, org.id, fields.id);
    await record(tx, call, org, 'entity.created', entity, { device_id: device.id });
    return entity;
  });
}

type EntityEvent =
  | 'entity.created'
  | 'entity.updated'
  | 'entity.deleted'
  | 'entity.restored'
  | 'entity.purged';

interface EntityChange {
  readonly type: EntityEvent;
  /** Which entities it is about; the others do not exist for it. */
  readonly of: 'live' | 'all';
  /** Returns the details of the event. */
  work(tx: Tx, entity: Entity, device: DeviceParent): Promise<Record<string, unknown>>;
}

/** Holds the device, locks the entity, changes it and writes the one event, in one transaction. */
async function changeEntity(
  deps: EntityEditingDeps,
  call: Call,
  org: OrgScope,
  id: string,
  change: EntityChange,
): Promise<Entity> {
  const limitedTo = entityLimit(principalOf(call));
  if (limitedTo !== null && !limitedTo.includes(id)) throw notFound();
  return deps.db.inOrg(org.id, async (tx) => {
    // The device first, as whoever deletes a device with its entities locks them too: no deadlock.
    const deviceId = await deviceIdOf(tx, org.id, id);
    const device = deviceId === null ? null : await holdDevice(tx, org.id, deviceId);
    const before = await lockEntity(tx, org.id, id);
    if (before === null || device === null) throw notFound();
    if (change.of === 'live' && before.deletedAt !== null) throw notFound();
    const details = await change.work(tx, before, device);
    const after = (await findEntity(tx, org.id, id, true)) ?? before;
    await record(tx, call, org, change.type, after, details);
    const [entity = after] = await withPortals(tx, deps, org.id, [after]);
    return entity;
  });
}

type PlainFields = Partial<Omit<EntityFields, 'id' | 'deviceId' | 'metadata'>>;

function fieldsOf(input: UpdateEntityRequest): PlainFields {
  return {
    ...(input.name === undefined ? {} : { name: parseEntityName(input.name) }),
    ...(input.external_id === undefined ? {} : { externalId: parseExternalId(input.external_id) }),
    ...(input.zone_id === undefined ? {} : { zoneId: input.zone_id }),
    ...(input.entity_type === undefined ? {} : { entityType: input.entity_type }),
  };
}

function editing(
  deps: EntityEditingDeps,
  org: OrgScope,
  fields: PlainFields,
  metadataOf: (before: Entity) => Record<string, string>,
): EntityChange {
  return {
    type: 'entity.updated',
    of: 'live',
    async work(tx, before, device) {
      const edit = { ...fields, metadata: metadataOf(before) };
      const changed = changedFields<Entity>(before, edit);
      if (changed.length === 0) return { changed };
      if (changed.includes('zone_id')) await requireZone(tx, org.id, edit.zoneId ?? null);
      // Only what is being written: a rule that came later must not stand in the way of a new name.
      requireFitting(deps, device, {
        ...(edit.externalId === undefined ? {} : { externalId: edit.externalId }),
        ...(changed.includes('metadata') ? { metadata: edit.metadata } : {}),
      });
      await refuseTakenExternalId(updateEntity(tx, org.id, { ...before, ...edit }));
      return { changed };
    },
  };
}

function deleting(org: OrgScope): EntityChange {
  return {
    type: 'entity.deleted',
    of: 'live',
    async work(tx, { id }) {
      await setEntityDeleted(tx, org.id, id, true);
      return {};
    },
  };
}

function restoring(org: OrgScope): EntityChange {
  return {
    type: 'entity.restored',
    of: 'all',
    async work(tx, { id, zoneId, deletedAt }, device) {
      if (deletedAt === null) throw new AppError('not_deleted', 'the entity is not deleted');
      const zone = zoneId === null ? null : await holdZone(tx, org.id, zoneId);
      if (!device.isLive || zone?.isLive === false)
        throw new AppError('parent_deleted', 'the device or zone of the entity is deleted: restore it first');
      await refuseTakenExternalId(setEntityDeleted(tx, org.id, id, false));
      return {};
    },
  };
}

function purging(org: OrgScope): EntityChange {
  return {
    type: 'entity.purged',
    of: 'all',
    async work(tx, { id }) {
      await purgeEntity(tx, org.id, id);
      return {};
    },
  };
}

async function requireZone(tx: Tx, orgId: string, zoneId: string | null): Promise<void> {
  if (zoneId === null) return;
  const zone = await holdZone(tx, orgId, zoneId);
  if (!zone?.isLive) throw invalid('/zone_id', 'is not a zone of this organization');
}

function requireFitting(
  deps: EntityEditingDeps,
  device: DeviceParent,
  { externalId, metadata }: Partial<Pick<EntityFields, 'externalId' | 'metadata'>>,
): void {
  const manifest = deps.manifestOf(device.providerType);
  if (manifest === null) return;
  if (externalId !== undefined)
    requireFittingExternalId(manifest.entityExternalId, externalId, manifest.entityExternalIdPattern);
  if (metadata !== undefined) requireFittingMetadata(manifest.entityMetadata, metadata, '/metadata');
}

async function shown(deps: EntityEditingDeps, tx: Tx, orgId: string, id: string): Promise<Entity> {
  const found = await findEntity(tx, orgId, id, true);
  const [entity] = found === null ? [] : await withPortals(tx, deps, orgId, [found]);
  if (entity === undefined) throw notFound();
  return entity;
}

async function record(
  tx: Tx,
  call: Call,
  org: OrgScope,
  type: EntityEvent,
  entity: Entity,
  details: Record<string, unknown>,
): Promise<void> {
  const resource = { type: 'entity', id: entity.id, name: entity.name };
  await recordEvent(tx, originOf(call), { orgId: org.id, type, resource, details });
}
