import type { OperationSpec } from '@lintel/contract/operation';
import type { FastifyRequest } from 'fastify';
import type { Credentials } from '../auth/credentials.ts';
import { AppError, notFound } from '../kernel/app-error.ts';
import { isMember, type OrgScope, type Principal } from '../kernel/call.ts';

type OrgLookup = Pick<Credentials, 'orgScope'>;

/** The organization a request works in; null for operations without one. Throws what the caller is told. */
export async function resolveOrg(
  lookup: OrgLookup,
  operation: OperationSpec,
  request: FastifyRequest,
  principal: Principal | null,
): Promise<OrgScope | null> {
  if (operation.org === 'none' || principal === null) return null;
  if (operation.org === 'path') return orgOfPath(lookup, operation, request, principal);
  const wanted = headerOrg(request) ?? ownOrgId(principal);
  if (principal.kind !== 'user' && wanted === principal.org.id) return principal.org;
  const org = await lookup.orgScope(wanted);
  if (org === null || org.deletedAt !== null || !isMember(principal, org)) {
    throw new AppError('forbidden', 'the caller has no role in this organization');
  }
  return org;
}

/** An organization in the path is a resource: a foreign one is as unknown as an absent one. */
async function orgOfPath(
  lookup: OrgLookup,
  operation: OperationSpec,
  request: FastifyRequest,
  principal: Principal,
): Promise<OrgScope> {
  const params = request.params as Record<string, string>;
  const org = await lookup.orgScope(params[operation.orgParam ?? 'org_id'] ?? '');
  if (org === null || !isMember(principal, org)) throw notFound();
  if (org.deletedAt !== null && operation.allowsDeletedOrg !== true) throw notFound();
  return org;
}

function headerOrg(request: FastifyRequest): string | undefined {
  const header = request.headers['x-org'];
  return Array.isArray(header) ? header[0] : header;
}

function ownOrgId(principal: Principal): string {
  if (principal.kind !== 'user') return principal.org.id;
  const [first, ...others] = new Set(principal.grants.map((grant) => grant.orgId));
  if (first === undefined) throw new AppError('forbidden', 'the caller has no role in any organization');
  if (others.length > 0) throw new AppError('org_required', 'name one of your organizations in X-Org');
  return first;
}
