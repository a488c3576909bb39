import type { CreateDeviceRequest, UpdateDeviceRequest } from '@lintel/contract/devices';
import { originOf, recordEvent } from '../../audit/audit.store.ts';
import type { Database, Tx } from '../../db/database.ts';
import { refuseTakenExternalId } from '../../db/external-ids.ts';
import { holdIntegration } from '../../db/parents.ts';
import { AppError, invalid, notFound } from '../../kernel/app-error.ts';
import { type Call, entityLimit, type OrgScope, principalOf } from '../../kernel/call.ts';
import {
  changedFields,
  parseExternalId,
  parseResourceName,
  requireSmallMetadata,
  requireUnlimited,
} from '../../kernel/resource-input.ts';
import { pickText } from '../../kernel/text.ts';
import { ulid } from '../../kernel/ulid.ts';
import { requirePolicyRights } from '../../policy/policed-devices.ts';
import type { ProviderManifest } from '../../providers/provider.ts';
import {
  hardwareIdOf,
  metadataSchemaOf,
  requireFittingExternalId,
  requireFittingMetadata,
} from '../../providers/record-rules.ts';
import { requireFittingParts } from './device-parts.ts';
import { isOther } from './devices.rules.ts';
import {
  type Device,
  type DeviceFilters,
  type DevicePage,
  deleteEntities,
  findDevice,
  hasEntities,
  insertDevice,
  listDevices,
  lockDevice,
  purgeDevice,
  purgeEntities,
  setDeviceDeleted,
  updateDevice,
} from './devices.store.ts';

export interface DevicesDeps {
  readonly db: Database;
  /** Null for a provider type this build does not have: then its rules are unknown and nothing is refused. */
  readonly manifestOf: (providerType: string) => ProviderManifest | null;
}

export type ListFilters = Omit<DeviceFilters, 'limitedTo'>;

export interface MetadataDefinition {
  readonly providerType: string;
  readonly schema: Record<string, unknown>;
  readonly data: Device['deviceMetadata'];
}

export interface DevicesService {
  list(
    call: Call,
    org: OrgScope,
    filters: ListFilters,
    page: DevicePage,
  ): Promise<{ items: Device[]; total: number }>;
  get(call: Call, org: OrgScope, id: string, includeDeleted: boolean): Promise<Device>;
  metadataDefinition(call: Call, org: OrgScope, id: string): Promise<MetadataDefinition>;
  create(call: Call, org: OrgScope, input: CreateDeviceRequest): Promise<Device>;
  update(call: Call, org: OrgScope, id: string, input: UpdateDeviceRequest): Promise<Device>;
  /** Recursive: its entities first. */
  remove(call: Call, org: OrgScope, id: string, recursive: boolean): Promise<Device>;
  restore(call: Call, org: OrgScope, id: string): Promise<Device>;
  purge(call: Call, org: OrgScope, id: string, recursive: boolean): Promise<Device>;
}

export function createDevicesService(deps: DevicesDeps): DevicesService {
  const { db } = deps;
  return {
    list: (call, org, filters, page) => {
      const limitedTo = entityLimit(principalOf(call));
      return db.inOrg(org.id, (tx) => listDevices(tx, org.id, { ...filters, limitedTo }, page));
    },
    get: (call, org, id, includeDeleted) => getDevice(db, call, org, id, includeDeleted),
    async metadataDefinition(call, org, id) {
      const device = await getDevice(db, call, org, id, false);
      const integration = await db.inOrg(org.id, (tx) => holdIntegration(tx, org.id, device.integrationId));
      const providerType = integration?.providerType ?? '';
      const schema = metadataSchemaOf(deps.manifestOf(providerType), 'deviceMetadata');
      return { providerType, schema, data: device.deviceMetadata };
    },
    create: (call, org, input) => createDevice(deps, call, org, input),
    update: (call, org, id, input) => changeDevice(deps, call, org, id, editing(deps, call, org, input)),
    remove: (call, org, id, recursive) => changeDevice(deps, call, org, id, deleting(recursive)),
    restore: (call, org, id) => changeDevice(deps, call, org, id, restoring),
    purge: (call, org, id, recursive) => changeDevice(deps, call, org, id, purging(call, org, recursive)),
  };
}

async function getDevice(
  db: Database,
  call: Call,
  org: OrgScope,
  id: string,
  includeDeleted: boolean,
): Promise<Device> {
  const limitedTo = entityLimit(principalOf(call));
  const device = await db.inOrg(org.id, (tx) => findDevice(tx, org.id, id, { includeDeleted, limitedTo }));
  if (device === null) throw notFound();
  return device;
}

async function createDevice(
  deps: DevicesDeps,
  call: Call,
  org: OrgScope,
  input: CreateDeviceRequest,
): Promise<Device> {
  requireUnlimited(principalOf(call));
  if (input.org_id !== org.id) throw invalid('/org_id', 'must be the organization of the request');
  const name = parseResourceName(input.name, org.defaultLocale);
  const externalId = parseExternalId(input.external_id ?? null);
  const deviceMetadata = input.device_metadata ?? {};
  requireSmallMetadata(deviceMetadata, '/device_metadata');
  return deps.db.inOrg(org.id, async (tx) => {
    const integration = await holdIntegration(tx, org.id, input.integration_id);
    if (!integration?.isLive) throw invalid('/integration_id', 'is not an integration of this organization');
    const manifest = deps.manifestOf(integration.providerType);
    if (manifest !== null) {
      requireFittingExternalId(manifest.deviceExternalId, externalId, manifest.deviceExternalIdPattern);
      requireFittingMetadata(manifest.deviceMetadata, deviceMetadata, '/device_metadata');
      await requireFittingParts(tx, org.id, manifest, deviceMetadata, deps.manifestOf);
    }
    const hardwareId = hardwareIdOf(manifest, { externalId, deviceMetadata });
    const fields = {
      id: ulid(),
      integrationId: integration.id,
      name,
      externalId,
      deviceMetadata,
      hardwareId,
    };
    const device = await refuseTakenExternalId(insertDevice(tx, org.id, fields));
    await record(tx, call, org, 'device.created', device, { integration_id: integration.id });
    return device;
  });
}

type DeviceEvent =
  | 'device.created'
  | 'device.updated'
  | 'device.deleted'
  | 'device.restored'
  | 'device.purged';

interface DeviceChange {
  readonly type: DeviceEvent;
  /** Which devices it is about; the others do not exist for it. */
  readonly of: 'live' | 'all';
  /** Returns the device as the caller is shown it, and the details of the event. */
  work(tx: Tx, device: Device): Promise<{ device: Device; details: Record<string, unknown> }>;
}

/** Locks a device, changes it and writes the one event, in one transaction. */
async function changeDevice(
  deps: DevicesDeps,
  call: Call,
  org: OrgScope,
  id: string,
  change: DeviceChange,
): Promise<Device> {
  requireUnlimited(principalOf(call));
  // The path too: its steward may be one of an organization above.
  return deps.db.inOrg(org.path, async (tx) => {
    const found = await lockDevice(tx, org.id, id);
    if (found === null || (change.of === 'live' && found.deletedAt !== null)) throw notFound();
    const { device, details } = await change.work(tx, found);
    await record(tx, call, org, change.type, device, details);
    return device;
  });
}

function editing(deps: DevicesDeps, call: Call, org: OrgScope, input: UpdateDeviceRequest): DeviceChange {
  const edit = {
    ...(input.name === undefined ? {} : { name: parseResourceName(input.name, org.defaultLocale) }),
    ...(input.external_id === undefined ? {} : { externalId: parseExternalId(input.external_id) }),
    ...(input.device_metadata === undefined ? {} : { deviceMetadata: input.device_metadata ?? {} }),
  };
  if (edit.deviceMetadata !== undefined) requireSmallMetadata(edit.deviceMetadata, '/device_metadata');
  return {
    type: 'device.updated',
    of: 'live',
    async work(tx, device) {
      const changed = changedFields<Device>(device, edit);
      if (changed.length === 0) return { device, details: { changed } };
      const manifest = await requireFitting(deps, tx, device, edit);
      const edited = { ...device, ...edit };
      if (isOther(manifest, device, edited))
        await requirePolicyRights(tx, principalOf(call), org, { deviceId: device.id });
      const hardwareId = hardwareIdOf(manifest, edited);
      const updated = await refuseTakenExternalId(updateDevice(tx, device.orgId, { ...edited, hardwareId }));
      return { device: updated, details: { changed } };
    },
  };
}

/** Only what is being written: a rule that came later must not stand in the way of a new name. */
async function requireFitting(
  deps: DevicesDeps,
  tx: Tx,
  { orgId, integrationId }: Device,
  edit: Partial<Pick<Device, 'externalId' | 'deviceMetadata'>>,
): Promise<ProviderManifest | null> {
  const integration = await holdIntegration(tx, orgId, integrationId);
  const manifest = integration && deps.manifestOf(integration.providerType);
  if (!manifest) return null;
  if (edit.externalId !== undefined)
    requireFittingExternalId(manifest.deviceExternalId, edit.externalId, manifest.deviceExternalIdPattern);
  if (edit.deviceMetadata !== undefined) {
    requireFittingMetadata(manifest.deviceMetadata, edit.deviceMetadata, '/device_metadata');
    await requireFittingParts(tx, orgId, manifest, edit.deviceMetadata, deps.manifestOf);
  }
  return manifest;
}

function deleting(recursive: boolean): DeviceChange {
  return {
    type: 'device.deleted',
    of: 'live',
    async work(tx, { orgId, id }) {
      if (!recursive && (await hasEntities(tx, orgId, id, 'live'))) throw hasChildren();
      const entityIds = recursive ? await deleteEntities(tx, orgId, id) : [];
      const device = await setDeviceDeleted(tx, orgId, id, true);
      return { device, details: recursive ? { entity_ids: entityIds } : {} };
    },
  };
}

const restoring: DeviceChange = {
  type: 'device.restored',
  of: 'all',
  async work(tx, { orgId, id, integrationId, deletedAt }) {
    if (deletedAt === null) throw new AppError('not_deleted', 'the device is not deleted');
    const integration = await holdIntegration(tx, orgId, integrationId);
    if (!integration?.isLive)
      throw new AppError('parent_deleted', 'the integration of the device is deleted: restore it first');
    return {
      device: await refuseTakenExternalId(setDeviceDeleted(tx, orgId, id, false)),
      details: {},
    };
  },
};

function purging(call: Call, org: OrgScope, recursive: boolean): DeviceChange {
  return {
    type: 'device.purged',
    of: 'all',
    async work(tx, device) {
      const { orgId, id } = device;
      await requirePolicyRights(tx, principalOf(call), org, { deviceId: id });
      if (!recursive && (await hasEntities(tx, orgId, id, 'all'))) throw hasChildren();
      const entityIds = recursive ? await purgeEntities(tx, orgId, id) : [];
      await purgeDevice(tx, orgId, id);
      return { device, details: recursive ? { entity_ids: entityIds } : {} };
    },
  };
}

function hasChildren(): AppError {
  return new AppError('has_children', 'the device has entities: remove them first, or send recursive=true');
}

async function record(
  tx: Tx,
  call: Call,
  org: OrgScope,
  type: DeviceEvent,
  device: Device,
  details: Record<string, unknown>,
): Promise<void> {
  const resource = { type: 'device', id: device.id, name: pickText(device.name, org.defaultLocale) };
  await recordEvent(tx, originOf(call), { orgId: org.id, type, resource, details });
}
