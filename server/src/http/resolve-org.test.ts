import type { OperationSpec } from '@lintel/contract/operation';
import { allOperations } from '@lintel/contract/operations';
import type { FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import type { OrgScope, Principal } from '../kernel/call.ts';
import { resolveOrg } from './resolve-org.ts';

const orgId = '01AAAAAAAAAAAAAAAAAAAAAAAA';
const live: OrgScope = {
  id: orgId,
  path: [orgId],
  epoch: 1,
  timezone: null,
  defaultLocale: 'en',
  deletedAt: null,
};
const deleted: OrgScope = { ...live, deletedAt: new Date(0) };
const admin: Principal = {
  kind: 'user',
  userId: '01AAAAAAAAAAAAAAAAAAAAAADM',
  sessionId: 's',
  grants: [{ orgId, role: 'admin' }],
};

const resolve = (operation: OperationSpec, found: OrgScope | null, principal = admin) =>
  resolveOrg(
    { orgScope: async () => found },
    operation,
    {
      params: { [operation.orgParam ?? 'org_id']: orgId },
      headers: { 'x-org': orgId },
    } as unknown as FastifyRequest,
    principal,
  );

const onPath = allOperations.filter((operation) => operation.org === 'path');
const inOrg = allOperations.filter((operation) => operation.org !== 'none');

describe('organization of a request', () => {
  it('lets only three operations work on a deleted organization', () => {
    const ids = allOperations.filter((operation) => operation.allowsDeletedOrg).map(({ id }) => id);
    expect(ids.toSorted()).toEqual(['get_org', 'hard_delete_org', 'restore_org']);
  });

  it.each(inOrg.map((operation) => [operation.id, operation] as const))(
    '%s refuses a deleted organization unless it says otherwise',
    async (_, operation) => {
      expect(await resolve(operation, live)).toEqual(live);
      if (operation.allowsDeletedOrg) expect(await resolve(operation, deleted)).toEqual(deleted);
      else {
        const code = operation.org === 'path' ? 'not_found' : 'forbidden';
        await expect(resolve(operation, deleted)).rejects.toMatchObject({ code });
      }
    },
  );

  it.each(onPath.map((operation) => [operation.id, operation] as const))(
    '%s tells a foreign and an absent organization apart by nothing',
    async (_, operation) => {
      const stranger: Principal = { ...admin, grants: [] };
      const foreign = await resolve(operation, live, stranger).catch((error: unknown) => error);
      const absent = await resolve(operation, null, stranger).catch((error: unknown) => error);
      expect(foreign).toMatchObject({ code: 'not_found' });
      expect(foreign).toEqual(absent);
    },
  );
});
