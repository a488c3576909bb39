// Valid requests for organizations and their invitations.
import { ulid } from '../../src/kernel/ulid.ts';
import type { Prepared, Recipe, Stage } from './scenario.ts';

type OrgOperation =
  | 'list_orgs'
  | 'create_org'
  | 'list_org_children'
  | 'search_orgs'
  | 'get_org'
  | 'update_org'
  | 'delete_org'
  | 'restore_org'
  | 'hard_delete_org'
  | 'list_org_ancestors'
  | 'get_org_permissions'
  | 'list_invitations'
  | 'create_invitation'
  | 'cancel_invitation'
  | 'hard_delete_invitation'
  | 'resend_invitation'
  | 'preview_invitation'
  | 'redeem_invitation';

const child = ({ app, tenant }: Stage): Promise<string> =>
  app.world.org({ parentId: tenant.orgId, name: tenant.marker });

/** The organization itself where that may be lost, a child of it elsewhere. Only an empty one can be deleted. */
async function expendableOrg(stage: Stage): Promise<Prepared> {
  if (!stage.disposable) return { params: { id: await child(stage) } };
  const { orgId } = stage.tenant;
  for (const table of ['entities', 'devices', 'zones', 'integrations'])
    await stage.app.db.query(`delete from ${table} where org_id = $1`, [orgId]);
  return { params: { id: orgId } };
}

async function deletedChild(stage: Stage): Promise<Prepared> {
  const id = await child(stage);
  await stage.app.db.query('update orgs set deleted_at = now() where id = $1', [id]);
  return { params: { id } };
}

interface Invitation {
  readonly id: string;
  readonly token: string;
  readonly pin: string;
}

/** Through the API: only it knows how link and PIN are stored. */
async function invite({ app, tenant }: Stage, email: string): Promise<Invitation> {
  const answer = await app.request('POST', `/orgs/${tenant.orgId}/invitations`, {
    headers: { ...tenant.admin.headers },
    body: { email, default_roles: ['users:create'] },
  });
  if (answer.status !== 201) throw new Error(`no invitation: ${answer.text}`);
  const issued = answer.body as unknown as { invitation: { id: string }; redeem_url: string; pin: string };
  const { id } = issued.invitation;
  // As if sent a while ago, so that it may be sent again.
  await app.db.query(`update org_invitations set last_sent_at = now() - interval '1 day' where id = $1`, [
    id,
  ]);
  return { id, token: tokenIn(issued.redeem_url), pin: issued.pin };
}

function tokenIn(redeemUrl: string): string {
  const token = /[\w-]{20,}$/.exec(redeemUrl)?.[0];
  if (token === undefined) throw new Error(`no token in ${redeemUrl}`);
  return token;
}

const stranger = (stage: Stage): string => `${ulid()}@${stage.tenant.marker}.test`.toLowerCase();

async function pendingInvitation(stage: Stage): Promise<Prepared> {
  const { id } = await invite(stage, stranger(stage));
  return { params: { id: stage.tenant.orgId, invite_id: id } };
}

const onOwnOrg: Recipe = { prepare: async ({ tenant }) => ({ params: { id: tenant.orgId } }) };

export const orgScenarios: Readonly<Record<OrgOperation, Recipe>> = {
  list_orgs: { prepare: async () => ({}) },
  create_org: {
    needs: ['admin'],
    prepare: async ({ tenant }) => ({
      body: { name: tenant.marker, parent_id: tenant.orgId },
      refs: { parent: tenant.orgId },
    }),
  },
  list_org_children: {
    prepare: async (stage) => {
      await child(stage);
      return { query: { parent_id: stage.tenant.orgId }, refs: { parent: stage.tenant.orgId } };
    },
  },
  search_orgs: {
    prepare: async ({ tenant }) => ({ query: { q: tenant.orgId }, refs: { id: tenant.orgId } }),
  },
  get_org: onOwnOrg,
  update_org: {
    prepare: async ({ tenant }) => ({ params: { id: tenant.orgId }, body: { description: tenant.marker } }),
  },
  delete_org: { prepare: expendableOrg },
  restore_org: { prepare: deletedChild, fromAbove: true },
  hard_delete_org: { prepare: expendableOrg },
  list_org_ancestors: onOwnOrg,
  get_org_permissions: onOwnOrg,
  list_invitations: {
    prepare: async (stage) => {
      await pendingInvitation(stage);
      return { params: { id: stage.tenant.orgId } };
    },
  },
  create_invitation: {
    prepare: async (stage) => ({
      params: { id: stage.tenant.orgId },
      body: { email: stranger(stage), default_roles: ['users:create'] },
    }),
  },
  cancel_invitation: { prepare: pendingInvitation },
  hard_delete_invitation: { prepare: pendingInvitation },
  resend_invitation: { prepare: pendingInvitation },
  preview_invitation: {
    prepare: async (stage) => ({ body: { token: (await invite(stage, stranger(stage))).token } }),
  },
  redeem_invitation: {
    prepare: async (stage) => {
      const { token, pin } = await invite(stage, stage.actor.email);
      return { body: { token, pin } };
    },
  },
};
