// Valid requests for users and their roles.
import { ulid } from '../../src/kernel/ulid.ts';
import type { Prepared, Recipe, Stage } from './scenario.ts';
import { createMember } from './scenario-world.ts';

type UserOperation =
  | 'create_user'
  | 'search_users'
  | 'get_user'
  | 'update_user'
  | 'delete_user'
  | 'restore_user'
  | 'hard_delete_user'
  | 'add_roles'
  | 'delete_roles'
  | 'list_org_users';

async function member({ app, tenant }: Stage): Promise<Prepared> {
  return { params: { id: await createMember(app, tenant, 'entities:list', 'users:create') } };
}

async function deletedMember(stage: Stage): Promise<Prepared> {
  const prepared = await member(stage);
  await stage.app.db.query('update users set deleted_at = now() where id = $1', [prepared.params?.id]);
  return prepared;
}

/** A role that whoever may grant roles at all holds: nobody grants what they do not hold. */
async function memberAndRoles(stage: Stage, held: boolean): Promise<Prepared> {
  const { app, tenant } = stage;
  const id = await createMember(app, tenant, 'entities:list', ...(held ? (['users:create'] as const) : []));
  return { params: { id }, body: { [tenant.orgId]: ['users:create'] }, refs: { org: tenant.orgId } };
}

export const userScenarios: Readonly<Record<UserOperation, Recipe>> = {
  create_user: {
    prepare: async ({ tenant }) => {
      const email = `${ulid()}@${tenant.marker}.test`.toLowerCase();
      const roles = { [tenant.orgId]: ['users:create'] };
      return { body: { name: tenant.marker, email, roles }, refs: { org: tenant.orgId } };
    },
  },
  search_users: {
    prepare: async (stage) => {
      await member(stage);
      return {
        query: { q: stage.tenant.marker, org_id: stage.tenant.orgId },
        refs: { org: stage.tenant.orgId },
      };
    },
  },
  get_user: { prepare: member },
  update_user: { prepare: async (stage) => ({ ...(await member(stage)), body: { phone: '+41791234567' } }) },
  delete_user: { prepare: member },
  restore_user: { prepare: deletedMember },
  hard_delete_user: { prepare: deletedMember },
  add_roles: { prepare: (stage) => memberAndRoles(stage, false), needs: ['users:create'] },
  delete_roles: { prepare: (stage) => memberAndRoles(stage, true), needs: ['users:create'] },
  list_org_users: {
    prepare: async (stage) => {
      await member(stage);
      return { params: { org_id: stage.tenant.orgId } };
    },
  },
};
