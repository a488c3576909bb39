import type { OperationSpec } from '@lintel/contract/operation';
import { AppError } from '../kernel/app-error.ts';
import { hasBuildingRole, isMember, type OrgScope, type Principal, requireRole } from '../kernel/call.ts';

/** The role of the contract. Operations with a rule in words enforce it in their service. */
export function authorize(operation: OperationSpec, principal: Principal | null, org: OrgScope | null): void {
  if (principal?.kind === 'agent' && !operation.agents) {
    throw new AppError('forbidden', 'agents may not do this');
  }
  if (typeof operation.role === 'object' || principal === null) return;
  if (org === null) throw new Error(`operation ${operation.id} needs a role but has no organization`);
  if (operation.buildingRoles && hasBuildingRole(principal, org)) return;
  if (operation.role !== 'member') requireRole(principal, org, operation.role);
  else if (!isMember(principal, org)) throw new AppError('forbidden', 'the caller has no role here');
}
