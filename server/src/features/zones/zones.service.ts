import type { CreateZoneRequest, UpdateZoneRequest } from '@lintel/contract/zones';
import { originOf, recordEvent } from '../../audit/audit.store.ts';
import type { Database, Tx } from '../../db/database.ts';
import { refuseTakenExternalId } from '../../db/external-ids.ts';
import { holdIntegration, holdZone, isIntegrationShown } from '../../db/parents.ts';
import { AppError, invalid, notFound } from '../../kernel/app-error.ts';
import { type Call, entityLimit, type OrgScope, principalOf } from '../../kernel/call.ts';
import {
  changedFields,
  parseExternalId,
  parseResourceName,
  requireUnlimited,
} from '../../kernel/resource-input.ts';
import { pickText } from '../../kernel/text.ts';
import { ulid } from '../../kernel/ulid.ts';
import {
  findZone,
  hasLiveParts,
  insertZone,
  isWithin,
  listZones,
  lockZone,
  purgeZone,
  setZoneDeleted,
  updateZone,
  type Zone,
  type ZoneFilters,
} from './zones.store.ts';

export interface ZonesService {
  list(
    call: Call,
    org: OrgScope,
    filters: Omit<ZoneFilters, 'limitedTo'>,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<{ items: Zone[]; total: number }>;
  get(call: Call, org: OrgScope, id: string, includeDeleted: boolean): Promise<Zone>;
  create(call: Call, org: OrgScope, input: CreateZoneRequest): Promise<Zone>;
  update(call: Call, org: OrgScope, id: string, input: UpdateZoneRequest): Promise<Zone>;
  remove(call: Call, org: OrgScope, id: string): Promise<Zone>;
  restore(call: Call, org: OrgScope, id: string): Promise<Zone>;
  purge(call: Call, org: OrgScope, id: string): Promise<Zone>;
}

export function createZonesService({ db }: { readonly db: Database }): ZonesService {
  return {
    list: (call, org, filters, page) =>
      db.inOrg(org.id, async (tx) => {
        if (!(await isIntegrationShown(tx, org.id, filters.integrationId, filters))) throw notFound();
        return listZones(tx, org.id, { ...filters, limitedTo: entityLimit(principalOf(call)) }, page);
      }),
    async get(call, org, id, includeDeleted) {
      const limitedTo = entityLimit(principalOf(call));
      const zone = await db.inOrg(org.id, (tx) => findZone(tx, org.id, id, { includeDeleted, limitedTo }));
      if (zone === null) throw notFound();
      return zone;
    },
    create: (call, org, input) => createZone(db, call, org, input),
    update: (call, org, id, input) => changeZone(db, call, org, id, editing(org, input)),
    remove: (call, org, id) => changeZone(db, call, org, id, deleting),
    restore: (call, org, id) => changeZone(db, call, org, id, restoring),
    purge: (call, org, id) => changeZone(db, call, org, id, purging),
  };
}

async function createZone(db: Database, call: Call, org: OrgScope, input: CreateZoneRequest): Promise<Zone> {
  requireUnlimited(principalOf(call));
  const name = parseResourceName(input.name, org.defaultLocale);
  const externalId = parseExternalId(input.external_id ?? null);
  const parentZoneId = input.parent_zone_id ?? null;
  return db.inOrg(org.id, async (tx) => {
    const integration = await holdIntegration(tx, org.id, input.integration_id);
    if (!integration?.isLive) throw invalid('/integration_id', 'is not an integration of this organization');
    await requireParent(tx, org.id, integration.id, parentZoneId);
    const fields = { id: ulid(), integrationId: integration.id, parentZoneId, name, externalId };
    const zone = await refuseTakenExternalId(insertZone(tx, org.id, fields));
    await record(tx, call, org, 'zone.created', zone, { integration_id: integration.id });
    return zone;
  });
}

/** A zone of another organization, a deleted one and one of another integration are all just not there. */
async function requireParent(
  tx: Tx,
  orgId: string,
  integrationId: string,
  parentZoneId: string | null,
): Promise<void> {
  if (parentZoneId === null) return;
  const parent = await holdZone(tx, orgId, parentZoneId);
  if (!parent?.isLive || parent.integrationId !== integrationId)
    throw invalid('/parent_zone_id', 'is not a zone of this integration');
}

type ZoneEvent = 'zone.created' | 'zone.updated' | 'zone.deleted' | 'zone.restored' | 'zone.purged';

interface ZoneChange {
  readonly type: ZoneEvent;
  /** Which zones it is about; the others do not exist for it. */
  readonly of: 'live' | 'all';
  /** Returns the zone as the caller is shown it, and the details of the event. */
  work(tx: Tx, zone: Zone): Promise<{ zone: Zone; details?: Record<string, unknown> }>;
}

/** Locks a zone, changes it and writes the one event, in one transaction. */
async function changeZone(
  db: Database,
  call: Call,
  org: OrgScope,
  id: string,
  change: ZoneChange,
): Promise<Zone> {
  requireUnlimited(principalOf(call));
  return db.inOrg(org.id, async (tx) => {
    const found = await lockZone(tx, org.id, id);
    if (found === null || (change.of === 'live' && found.deletedAt !== null)) throw notFound();
    const { zone, details } = await change.work(tx, found);
    await record(tx, call, org, change.type, zone, details ?? {});
    return zone;
  });
}

function editing(org: OrgScope, input: UpdateZoneRequest): ZoneChange {
  const edit = {
    ...(input.name === undefined ? {} : { name: parseResourceName(input.name, org.defaultLocale) }),
    ...(input.parent_zone_id === undefined ? {} : { parentZoneId: input.parent_zone_id }),
    ...(input.external_id === undefined ? {} : { externalId: parseExternalId(input.external_id) }),
  };
  return {
    type: 'zone.updated',
    of: 'live',
    async work(tx, zone) {
      const changed = changedFields<Zone>(zone, edit);
      if (changed.length === 0) return { zone, details: { changed } };
      if (changed.includes('parent_zone_id')) await requireMovable(tx, zone, edit.parentZoneId ?? null);
      const updated = await refuseTakenExternalId(updateZone(tx, zone.orgId, { ...zone, ...edit }));
      return { zone: updated, details: { changed } };
    },
  };
}

async function requireMovable(tx: Tx, zone: Zone, parentZoneId: string | null): Promise<void> {
  await requireParent(tx, zone.orgId, zone.integrationId, parentZoneId);
  if (parentZoneId !== null && (await isWithin(tx, zone.orgId, parentZoneId, zone.id)))
    throw invalid('/parent_zone_id', 'is the zone itself or below it');
}

const deleting: ZoneChange = {
  type: 'zone.deleted',
  of: 'live',
  async work(tx, { orgId, id }) {
    await requireNoParts(tx, orgId, id);
    return { zone: await setZoneDeleted(tx, orgId, id, true) };
  },
};

const restoring: ZoneChange = {
  type: 'zone.restored',
  of: 'all',
  async work(tx, { orgId, id, integrationId, parentZoneId, deletedAt }) {
    if (deletedAt === null) throw new AppError('not_deleted', 'the zone is not deleted');
    const integration = await holdIntegration(tx, orgId, integrationId);
    const parent = parentZoneId === null ? null : await holdZone(tx, orgId, parentZoneId);
    if (!integration?.isLive || parent?.isLive === false)
      throw new AppError('parent_deleted', 'what the zone is in is deleted: restore that first');
    return { zone: await refuseTakenExternalId(setZoneDeleted(tx, orgId, id, false)) };
  },
};

const purging: ZoneChange = {
  type: 'zone.purged',
  of: 'all',
  async work(tx, zone) {
    await requireNoParts(tx, zone.orgId, zone.id);
    await purgeZone(tx, zone.orgId, zone.id);
    return { zone };
  },
};

async function requireNoParts(tx: Tx, orgId: string, id: string): Promise<void> {
  if (await hasLiveParts(tx, orgId, id))
    throw new AppError('has_children', 'the zone has zones or entities in it: move or remove them first');
}

async function record(
  tx: Tx,
  call: Call,
  org: OrgScope,
  type: ZoneEvent,
  zone: Zone,
  details: Record<string, unknown>,
): Promise<void> {
  const resource = { type: 'zone', id: zone.id, name: pickText(zone.name, org.defaultLocale) };
  await recordEvent(tx, originOf(call), { orgId: org.id, type, resource, details });
}
