// Who may do what, as the contract says it, against what the app does.
import { isBuildingRole, plainRoles, type Role } from '@lintel/contract/roles';
import { aimAt, expectedStatus, isRoleBound, type Prepared, perform, scenarios } from './scenario.ts';
import { gather } from './scenario-parallel.ts';
import { sessionActor } from './scenario-signin.ts';
import {
  type Actor,
  createMember,
  createTenant,
  keyActor,
  type Operation,
  type Tenant,
} from './scenario-world.ts';
import type { Answer, TestApp } from './test-app.ts';
import { rootAdminId } from './test-world.ts';

/** How somebody comes to hold exactly one role. */
export const holders = {
  /** By the scope of a key, whose creator administers everything. */
  'scoped key': (app: TestApp, tenant: Tenant, role: Role) =>
    keyActor(app, tenant.orgId, rootAdminId, { name: `key scoped to ${role}`, scopedRoles: [role] }),
  /** By their only grant. */
  user: async (app: TestApp, tenant: Tenant, role: Role) =>
    sessionActor(app, await createMember(app, tenant, role), `a user with ${role}`),
} as const;

export type Holder = (app: TestApp, tenant: Tenant, role: Role) => Promise<Actor>;

type Expectation = 'admitted' | 'forbidden' | 'unknown' | 'stranger';

const wantedStatus = { forbidden: 403, unknown: 404, stranger: 401 } as const;

function expectationOf(operation: Operation, role: Role, { headers }: Actor): Expectation {
  // What is for people at a browser knows no keys, whatever they may do.
  if (operation.auth === 'session' && headers.authorization !== undefined) return 'stranger';
  const { needs, fromAbove, noBypass } = scenarios[operation.id];
  const demanded = needs ?? (operation.role === 'member' ? undefined : [operation.role as Role]);
  if ((role === 'admin' && noBypass === undefined) || demanded === undefined) return 'admitted';
  if (operation.buildingRoles && isBuildingRole(role)) return 'admitted';
  if (fromAbove) return 'unknown';
  return (demanded as readonly Role[]).includes(role) ? 'admitted' : 'forbidden';
}

const buildingRoles = ['manager', 'resident'] as const;

export const rolesInMatrix = plainRoles.length + buildingRoles.length;

function rolesOf(tenant: Tenant): Role[] {
  const building = `virtual_access:integration:${tenant.building.integrationId}` as const;
  return [...plainRoles, ...buildingRoles.map((role) => `${building}:${role}` as const)];
}

export interface RoleCheck {
  readonly app: TestApp;
  readonly operations: readonly Operation[];
  readonly holder: Holder;
}

/** Every operation with a plain role, asked by a holder of every role. */
export async function roleViolations({ app, operations, holder }: RoleCheck): Promise<string[]> {
  const tenant = await createTenant(app, 'roles');
  const roles = rolesOf(tenant);
  const actors = await gather(roles, 4, async (role) => [await holder(app, tenant, role)]);
  const subjects = operations.filter(isRoleBound);
  const refused: Answer[] = [];
  const found = await gather(subjects, 4, async (operation) => {
    const stage = { app, tenant, actor: tenant.admin, disposable: false };
    const { prepare, fromAbove } = scenarios[operation.id];
    const request = await prepare(stage);
    const prepared = fromAbove ? request : aimAt(operation, tenant.orgId, request);
    const problems: string[] = [];
    for (const [index, role] of roles.entries()) {
      const actor = actors[index];
      if (actor === undefined) throw new Error(`nobody holds ${role}`);
      const expectation = expectationOf(operation, role, actor);
      const answer = await ask({ app, holder }, operation, role, actor, prepared, expectation);
      if (answer.status === 403) refused.push(answer);
      problems.push(...problemOf(operation, role, expectation, answer));
    }
    return problems;
  });
  return [...found, ...(await refusalsWithoutEvent(app, refused))];
}

/** A refused request changes nothing and may be repeated; one that is let in gets an organization of its own. */
async function ask(
  { app, holder }: Pick<RoleCheck, 'app' | 'holder'>,
  operation: Operation,
  role: Role,
  actor: Actor,
  prepared: Prepared,
  expectation: Expectation,
): Promise<Answer> {
  if (expectation !== 'admitted') return perform(app, operation.id, actor, prepared);
  const tenant = await createTenant(app, 'role');
  const holds = await holder(app, tenant, sameRoleIn(tenant, role));
  const stage = { app, tenant, actor: holds, disposable: true };
  return perform(app, operation.id, holds, await scenarios[operation.id].prepare(stage));
}

function sameRoleIn({ building }: Tenant, role: Role): Role {
  if (!isBuildingRole(role)) return role;
  return `virtual_access:integration:${building.integrationId}:${role.endsWith(':manager') ? 'manager' : 'resident'}`;
}

function problemOf(operation: Operation, role: Role, expectation: Expectation, answer: Answer): string[] {
  const said = `${operation.id} with ${role}: ${answer.status} ${answer.body?.code ?? ''}`;
  if (expectation === 'admitted') {
    // A rule of the operation itself (the last administrator stays …) is no question of roles.
    const isAdmitted = answer.status === expectedStatus(operation.id) || answer.status === 409;
    return isAdmitted ? [] : [`${said}, should be let in`];
  }
  const wanted = wantedStatus[expectation];
  return answer.status === wanted ? [] : [`${said}, should be ${wanted}`];
}

/** Whoever was told 403 is in the log, once, under the id they were told. */
async function refusalsWithoutEvent(app: TestApp, refused: readonly Answer[]): Promise<string[]> {
  const ids = refused.map((answer) => String(answer.headers['x-request-id']));
  const rows = await app.db.query<{ id: string; events: number }>(
    `select wanted.id, count(e.id)::int as events from unnest($1::text[]) as wanted (id)
     left join audit_events e on e.correlation_id = wanted.id and e.outcome = 'denied' group by wanted.id`,
    [ids],
  );
  const wrong = rows.filter(({ events }) => events !== 1);
  return wrong.map(({ id, events }) => `the refusal ${id} has ${events} denied events`);
}

/** Agents of an administrator: let in where the contract says so, and stopped everywhere else whatever they hold. */
export async function agentViolations(app: TestApp, operations: readonly Operation[]): Promise<string[]> {
  return gather(operations.filter(isRoleBound), 4, async (operation) => {
    const tenant = await createTenant(app, 'agents');
    const stage = { app, tenant, actor: tenant.admin, disposable: false };
    const prepared = await scenarios[operation.id].prepare(stage);
    const allowedEntityIds = [prepared.params?.id ?? '', tenant.building.entityId];
    const agentId = await app.world.agent(tenant.orgId, rootAdminId, { allowedEntityIds });
    const agent = await keyActor(app, tenant.orgId, rootAdminId, { agentId });
    const answer = await perform(app, operation.id, agent, aimAt(operation, tenant.orgId, prepared));
    const refusal = operation.auth === 'session' ? 401 : 403;
    const wanted = operation.agents ? expectedStatus(operation.id) : refusal;
    return answer.status === wanted
      ? []
      : [`${operation.id} by an agent: ${answer.status} ${answer.body?.code ?? ''}, should be ${wanted}`];
  });
}
