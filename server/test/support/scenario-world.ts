import type { OperationSpec, RoleRequirement } from '@lintel/contract/operation';
import { apiBasePath, type OperationId, operations } from '@lintel/contract/operations';
import type { Role } from '@lintel/contract/roles';
import { ulid } from '../../src/kernel/ulid.ts';
import type { TestApp } from './test-app.ts';
import { type BuildingIds, rootAdminId, rootOrgId } from './test-world.ts';

/** Somebody who sends requests. */
export interface Actor {
  readonly name: string;
  readonly userId: string;
  readonly email: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Tenant {
  readonly orgId: string;
  /** Part of every name in the tenant, so that a leak is seen in any answer. */
  readonly marker: string;
  readonly building: BuildingIds;
  /** By a key of the platform administrator's: the organization itself has no people unless they are added. */
  readonly admin: Actor;
}

export type Operation = OperationSpec & { readonly id: OperationId };

export const everyOperation: readonly Operation[] = operations;

export function routeOf(operation: OperationSpec): string {
  return `${apiBasePath}${operation.path.replace(/\{(\w+)\}/g, ':$1')}`;
}

export function hasRule(role: RoleRequirement): role is { readonly rule: string } {
  return typeof role === 'object';
}

export async function createTenant(app: TestApp, name: string, parentId = rootOrgId): Promise<Tenant> {
  const marker = `${name}-${ulid().slice(-10).toLowerCase()}`;
  const orgId = await app.world.org({ name: marker, parentId });
  const building = await createBuilding(app, orgId, marker);
  return {
    orgId,
    marker,
    building,
    admin: await keyActor(app, orgId, rootAdminId, {
      name: `${name} admin`,
      scopedRoles: ['admin', 'execute'],
    }),
  };
}

export async function createBuilding(app: TestApp, orgId: string, marker: string): Promise<BuildingIds> {
  const building = await app.world.building(orgId);
  const name = JSON.stringify({ en: marker });
  await app.db.query('update integrations set name = $2 where id = $1', [building.integrationId, name]);
  await app.db.query('update devices set name = $2 where id = $1', [building.deviceId, name]);
  await app.db.query('update zones set name = $2 where id = $1', [building.zoneId, name]);
  await app.db.query('update entities set name = $2 where id = $1', [building.entityId, marker]);
  return building;
}

/** A user of the organization, with these roles there and nothing elsewhere. */
export async function createMember(app: TestApp, tenant: Tenant, ...roles: Role[]): Promise<string> {
  const userId = await app.world.user({ name: tenant.marker });
  await app.world.grant(tenant.orgId, userId, ...roles);
  return userId;
}

export interface KeyActorOptions {
  readonly name?: string;
  readonly scopedRoles?: string[] | null;
  readonly scopedEntityIds?: string[] | null;
  readonly agentId?: string;
  readonly expiresAt?: Date;
}

export async function keyActor(
  app: TestApp,
  orgId: string,
  userId: string,
  { name = 'key', ...options }: KeyActorOptions = {},
): Promise<Actor & { readonly keyId: string }> {
  const { token, id } = await app.world.key(orgId, userId, options);
  const [user] = await app.db.query<{ email: string }>('select email from users where id = $1', [userId]);
  const headers = { authorization: `Bearer ${token}` };
  return { name, userId, email: user?.email ?? '', headers, keyId: id };
}

export function platformActor(app: TestApp): Promise<Actor> {
  return keyActor(app, rootOrgId, rootAdminId, { name: 'a platform administrator’s key' });
}
