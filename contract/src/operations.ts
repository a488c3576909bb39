import { actionOperations } from './actions.ts';
import { agentOperations } from './agents.ts';
import { apiKeyOperations } from './api-keys.ts';
import { approvalOperations } from './approvals.ts';
import { auditOperations } from './audit.ts';
import { deviceOperations } from './devices.ts';
import { entityOperations } from './entities.ts';
import { holdOperations } from './holds.ts';
import { imageOperations } from './images.ts';
import { integrationOpOperations } from './integration-ops.ts';
import { integrationOperations } from './integrations.ts';
import { meOperations } from './me.ts';
import type { BodyOf, OperationSpec, ParamsOf, QueryOf, ResultOf } from './operation.ts';
import { orgInvitationOperations } from './org-invitations.ts';
import { orgOperations } from './orgs.ts';
import { policyOperations } from './policies.ts';
import { quotaOperations } from './quotas.ts';
import { scriptingOperations } from './scripting.ts';
import { sessionOperations } from './session.ts';
import { statusOperations } from './status.ts';
import { userOperations } from './users.ts';
import { whatIfOperations } from './what-if.ts';
import { zoneOperations } from './zones.ts';

/** The one list. Binding, validation, OpenAPI, the client, the role table and the safety tests are derived from it. */
export const operations = [
  ...statusOperations,
  ...sessionOperations,
  ...meOperations,
  ...apiKeyOperations,
  ...agentOperations,
  ...entityOperations,
  ...actionOperations,
  ...deviceOperations,
  ...zoneOperations,
  ...integrationOperations,
  ...integrationOpOperations,
  ...orgOperations,
  ...orgInvitationOperations,
  ...userOperations,
  ...imageOperations,
  ...policyOperations,
  ...whatIfOperations,
  ...approvalOperations,
  ...holdOperations,
  ...quotaOperations,
  ...scriptingOperations,
  ...auditOperations,
] as const;

type AnyOperation = (typeof operations)[number];
export type OperationId = AnyOperation['id'];
export type OperationById<Id extends OperationId> = Extract<AnyOperation, { id: Id }>;

export type Params<Id extends OperationId> = ParamsOf<OperationById<Id>>;
export type Query<Id extends OperationId> = QueryOf<OperationById<Id>>;
export type Body<Id extends OperationId> = BodyOf<OperationById<Id>>;
export type Result<Id extends OperationId> = ResultOf<OperationById<Id>>;

const byId: ReadonlyMap<string, OperationSpec> = new Map(
  operations.map((operation) => [operation.id, operation]),
);

export function operationById(id: OperationId): OperationSpec {
  const operation = byId.get(id);
  if (operation === undefined) throw new Error(`unknown operation ${id}`);
  return operation;
}

export const allOperations: readonly OperationSpec[] = operations;
export const apiBasePath = '/api/v1';
