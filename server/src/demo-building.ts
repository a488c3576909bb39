import { plainRoles, type Role } from '@lintel/contract/roles';
import { type AuditOrigin, recordEvent } from './audit/audit.store.ts';
import { insertGrants } from './auth/role-grants.store.ts';
import type { Tx } from './db/database.ts';
import {
  findDemoEntities,
  insertDevice,
  insertEntity,
  insertIntegration,
  insertZone,
} from './demo-building.store.ts';
import { insertUser } from './features/users/users.store.ts';
import { ulid } from './kernel/ulid.ts';

/** Doors and lights of the demo building by the names under which a start reports them. */
export const demoEntities = [
  {
    key: 'front_door',
    name: 'Front door',
    type: 'door',
    device: 'Entrance controller',
    zone: 'Ground floor',
  },
  { key: 'side_door', name: 'Side door', type: 'door', device: 'Entrance controller', zone: 'Ground floor' },
  { key: 'gate', name: 'Courtyard gate', type: 'door', device: 'Gate drive', zone: 'Courtyard' },
  { key: 'garage', name: 'Garage door', type: 'door', device: 'Garage drive', zone: 'Underground garage' },
  {
    key: 'lobby_light',
    name: 'Lobby light',
    type: 'light',
    device: 'Lighting controller',
    zone: 'Ground floor',
  },
  {
    key: 'stairwell_light',
    name: 'Stairwell light',
    type: 'light',
    device: 'Lighting controller',
    zone: 'Stairwell',
  },
] as const;

export type DemoKey = (typeof demoEntities)[number]['key'];
export type DemoIds = { readonly [Key in DemoKey]?: string };

interface Person {
  readonly name: string;
  readonly email: string;
  readonly roles: (integrationId: string) => readonly Role[];
}

const mayUseDoors: readonly Role[] = [
  'entities:list',
  'entities:read',
  'entities:set_state',
  'zones:list',
  'zones:read',
];

const people: readonly Person[] = [
  {
    name: 'Mara Lindqvist',
    email: 'mara@maple-court.example',
    roles: (id) => [...managerRoles(), building(id, 'manager')],
  },
  {
    name: 'Tomás Navarro',
    email: 'tomas@maple-court.example',
    roles: () => [...mayUseDoors, 'devices:list', 'devices:read', 'integrations:list', 'audit:read'],
  },
  {
    name: 'Aisha Rahman',
    email: 'aisha@maple-court.example',
    roles: (id) => [...mayUseDoors, building(id, 'resident')],
  },
  {
    name: 'Jonas Weber',
    email: 'jonas@maple-court.example',
    roles: (id) => [...mayUseDoors, building(id, 'resident')],
  },
];

/** Everything about the building and its people; nothing about organizations, and no integration secrets. */
function managerRoles(): Role[] {
  const areas = [
    'devices',
    'entities',
    'zones',
    'users',
    'aliases',
    'invites',
    'agents',
    'audit',
    'api_keys',
  ];
  return plainRoles.filter((role) => areas.includes(role.split(':')[0] ?? ''));
}

function building(integrationId: string, role: 'manager' | 'resident'): Role {
  return `virtual_access:integration:${integrationId}:${role}`;
}

export interface DemoBuildingOptions {
  readonly orgId: string;
  readonly administratorId: string;
  readonly origin: AuditOrigin;
}

/** A small apartment house whose doors are simulated: something to open before any hardware is connected. */
export async function createDemoBuilding(tx: Tx, options: DemoBuildingOptions): Promise<DemoIds> {
  const integrationId = await createIntegration(tx, options);
  const zones = await createZones(tx, options, integrationId);
  const ids = await createEntities(tx, options, integrationId, zones);
  for (const person of people) await createPerson(tx, options, person, integrationId);
  return ids;
}

export async function findDemoIds(tx: Tx, orgId: string): Promise<DemoIds> {
  const keys = demoEntities.map(({ key }) => key);
  return Object.fromEntries(await findDemoEntities(tx, orgId, keys));
}

async function createIntegration(tx: Tx, options: DemoBuildingOptions): Promise<string> {
  const id = ulid();
  const name = 'Maple Court doors';
  await insertIntegration(tx, options.orgId, {
    id,
    providerType: 'virtual_demo',
    name: { en: name },
    config: { auto_close_seconds: 5 },
  });
  await record(tx, options, 'integration', id, name);
  return id;
}

async function createZones(
  tx: Tx,
  options: DemoBuildingOptions,
  integrationId: string,
): Promise<ReadonlyMap<string, string>> {
  const create = async (name: string, parentZoneId: string | null) => {
    const id = ulid();
    await insertZone(tx, options.orgId, { id, integrationId, parentZoneId, name: { en: name } });
    await record(tx, options, 'zone', id, name);
    return id;
  };
  const site = await create('Maple Court', null);
  const zones = new Map<string, string>();
  for (const { zone } of demoEntities) if (!zones.has(zone)) zones.set(zone, await create(zone, site));
  return zones;
}

async function createEntities(
  tx: Tx,
  options: DemoBuildingOptions,
  integrationId: string,
  zones: ReadonlyMap<string, string>,
): Promise<DemoIds> {
  const devices = new Map<string, string>();
  const ids: Partial<Record<DemoKey, string>> = {};
  for (const { key, name, type, device, zone } of demoEntities) {
    const deviceId = devices.get(device) ?? (await createDevice(tx, options, integrationId, device));
    devices.set(device, deviceId);
    const id = ulid();
    const zoneId = zones.get(zone) ?? '';
    await insertEntity(tx, options.orgId, { id, deviceId, zoneId, entityType: type, name, externalId: key });
    await record(tx, options, 'entity', id, name);
    ids[key] = id;
  }
  return ids;
}

async function createDevice(
  tx: Tx,
  options: DemoBuildingOptions,
  integrationId: string,
  name: string,
): Promise<string> {
  const id = ulid();
  await insertDevice(tx, options.orgId, { id, integrationId, name: { en: name } });
  await record(tx, options, 'device', id, name);
  return id;
}

async function createPerson(
  tx: Tx,
  options: DemoBuildingOptions,
  { name, email, roles }: Person,
  integrationId: string,
): Promise<void> {
  const { orgId } = options;
  const id = ulid();
  const granted = roles(integrationId);
  await insertUser(tx, id, { name: { en: name }, email, emailIsSynthetic: false, phone: null });
  const grants = granted.map((role) => ({ orgId, role }));
  await insertGrants(tx, id, grants, options.administratorId);
  await record(tx, options, 'user', id, name, { roles: { [orgId]: granted } });
}

async function record(
  tx: Tx,
  { orgId, origin }: DemoBuildingOptions,
  type: 'integration' | 'zone' | 'device' | 'entity' | 'user',
  id: string,
  name: string,
  details: Record<string, unknown> = {},
): Promise<void> {
  await recordEvent(tx, origin, { orgId, type: `${type}.created`, resource: { type, id, name }, details });
}
