import { type OperationSpec, successStatus } from '@lintel/contract/operation';
import { type OperationId, operationById } from '@lintel/contract/operations';
import type { PlainRole } from '@lintel/contract/roles';
import { accessScenarios } from './scenario-access.ts';
import { buildingScenarios } from './scenario-building.ts';
import { holdScenarios } from './scenario-holds.ts';
import { imageScenarios } from './scenario-images.ts';
import { integrationScenarios } from './scenario-integrations.ts';
import { orgScenarios } from './scenario-orgs.ts';
import { policyScenarios } from './scenario-policies.ts';
import { quotaScenarios } from './scenario-quotas.ts';
import { resourceScenarios } from './scenario-resources.ts';
import { scriptingScenarios } from './scenario-scripting.ts';
import { sessionScenarios } from './scenario-session.ts';
import { userScenarios } from './scenario-users.ts';
import { type Actor, hasRule, type Operation, type Tenant } from './scenario-world.ts';
import type { Answer, TestApp } from './test-app.ts';
import { formWith, samplePng } from './upload-form.ts';

export interface Stage {
  readonly app: TestApp;
  /** Where what the request needs is put. */
  readonly tenant: Tenant;
  /** Who is going to send it. */
  readonly actor: Actor;
  /** Whether the request may hit the tenant's own organization, to the point of deleting it. */
  readonly disposable: boolean;
}

export interface Prepared {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Win over the actor's own. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Ids in query and body that belong to the tenant, by any name. The cross-tenant matrix puts foreign and absent
   * ones in their place; ids in the path are found by themselves.
   */
  readonly refs?: Readonly<Record<string, string>>;
}

export interface Recipe {
  /** Makes what a valid request needs and returns that request. */
  prepare(stage: Stage): Promise<Prepared>;
  /**
   * For operations open to members, or by a rule: the roles of which the service itself asks one. They are then part
   * of the role matrix.
   */
  readonly needs?: readonly PlainRole[];
  /** Administrators need one of the roles like anybody else. */
  readonly noBypass?: true;
  /** Only an administrator of an organization above can do it: whoever belongs to the target alone is locked out. */
  readonly fromAbove?: true;
  /** Only an administrator of the platform can do it: the people of an organization are all refused. */
  readonly byPlatform?: true;
}

/** One valid request for every operation: a new operation does not pass the type check before it has its recipe. */
export const scenarios: Readonly<Record<OperationId, Recipe>> = {
  ...sessionScenarios,
  ...accessScenarios,
  ...buildingScenarios,
  ...integrationScenarios,
  ...resourceScenarios,
  ...orgScenarios,
  ...userScenarios,
  ...imageScenarios,
  ...policyScenarios,
  ...holdScenarios,
  ...quotaScenarios,
  ...scriptingScenarios,
};

export interface PerformOptions {
  /** X-Org. */
  readonly org?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function perform(
  app: TestApp,
  id: OperationId,
  actor: Pick<Actor, 'headers'>,
  prepared: Prepared,
  options: PerformOptions = {},
): Promise<Answer> {
  const operation = operationById(id);
  const upload = operation.upload === undefined ? null : formWith(samplePng);
  return app.request(operation.method, pathOf(operation.path, prepared), {
    headers: {
      ...(upload === null ? {} : upload.headers),
      ...actor.headers,
      ...(options.org === undefined ? {} : { 'x-org': options.org }),
      ...prepared.headers,
      ...options.headers,
    },
    ...(upload === null ? {} : { payload: upload.payload }),
    ...(prepared.body === undefined ? {} : { body: prepared.body }),
  });
}

/**
 * The same request on the organization itself. A child of it is out of a plain role's reach and so unknown (404),
 * while the own organization is known and refused (403).
 */
export function aimAt(operation: OperationSpec, orgId: string, prepared: Prepared): Prepared {
  if (operation.org !== 'path') return prepared;
  return { ...prepared, params: { ...prepared.params, [operation.orgParam ?? 'org_id']: orgId } };
}

export function pathOf(template: string, { params = {}, query = {} }: Prepared): string {
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined) throw new Error(`the recipe gives no ${name} for ${template}`);
    return encodeURIComponent(value);
  });
  const search = new URLSearchParams(query).toString();
  return search === '' ? path : `${path}?${search}`;
}

/** Whether roles decide who is let in: by the contract, or by a rule that comes down to roles. */
export function isRoleBound({ id, role }: Operation): boolean {
  return !hasRule(role) || scenarios[id].needs !== undefined;
}

export function expectedStatus(id: OperationId): number {
  return successStatus(operationById(id));
}
