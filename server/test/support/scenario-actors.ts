// The kinds of callers there are, as people of one organization.
import { plainRoles } from '@lintel/contract/roles';
import { sessionActor } from './scenario-signin.ts';
import { type Actor, createMember, keyActor, type Tenant } from './scenario-world.ts';
import type { TestApp } from './test-app.ts';
import { rootAdminId, rootOrgId } from './test-world.ts';

export async function administrator(app: TestApp, tenant: Tenant): Promise<Actor> {
  const userId = await createMember(app, tenant, 'admin', 'execute');
  return keyActor(app, tenant.orgId, userId, { name: 'an administrator’s key' });
}

/** Callers whose credentials are good, and end at the borders of the organization. */
export async function livingActors(app: TestApp, tenant: Tenant): Promise<Actor[]> {
  const { orgId, building } = tenant;
  const userId = await createMember(app, tenant, 'admin');
  const agentId = await app.world.agent(orgId, userId, { allowedEntityIds: [building.entityId] });
  const everythingButAdmin = plainRoles.filter((role) => role !== 'admin');
  return [
    await administrator(app, tenant),
    await sessionActor(app, userId, 'an administrator at a browser'),
    await keyActor(app, orgId, userId, {
      name: 'a key with all other roles',
      scopedRoles: everythingButAdmin,
    }),
    await keyActor(app, orgId, userId, {
      name: 'a key for one entity',
      scopedRoles: ['entities:list', 'entities:read', 'entities:set_state'],
      scopedEntityIds: [building.entityId],
    }),
    await keyActor(app, orgId, userId, { name: 'an agent', agentId }),
    // Only admin is inherited: whatever else somebody holds in the root organization ends there.
    await keyActor(app, rootOrgId, rootAdminId, {
      name: 'a key of the root organization without admin',
      scopedRoles: everythingButAdmin,
    }),
  ];
}

/** Callers nobody should listen to. */
export async function deadActors(app: TestApp, tenant: Tenant): Promise<Actor[]> {
  const { orgId } = tenant;
  const userId = await createMember(app, tenant, 'admin');
  const leaverId = await createMember(app, tenant, 'admin');
  const expired = new Date(0);
  const revoked = await keyActor(app, orgId, userId, { name: 'a revoked key' });
  const orphaned = await keyActor(app, orgId, leaverId, { name: 'a key of a deleted creator' });
  await app.db.query('update api_keys set revoked_at = now() where id = $1', [revoked.keyId]);
  await app.db.query('update users set deleted_at = now() where id = $1', [leaverId]);
  return [
    { name: 'nobody', userId: '', email: '', headers: {} },
    revoked,
    orphaned,
    await keyActor(app, orgId, userId, { name: 'an expired key', expiresAt: expired }),
  ];
}
