import { isRole, plainRoles } from '@lintel/contract/roles';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../kernel/app-error.ts';
import type { Principal } from '../../kernel/call.ts';
import { ulid } from '../../kernel/ulid.ts';
import { grantsIn, parseIdList, parseRoleMap, reachOf } from './users.rules.ts';

const [rootId, orgId, belowId] = [ulid(), ulid(), ulid()];
const org = { id: orgId, path: [rootId, orgId] };

describe('parseRoleMap', () => {
  it('merges the short form with the organization named', () => {
    const map = parseRoleMap({ roles: ['execute'], [orgId]: ['zones:list', 'execute'] }, orgId);
    expect([...map]).toEqual([[orgId, ['execute', 'zones:list']]]);
  });

  it('gives known roles in well-formed organizations, each once, or refuses with 400', () => {
    const key = fc.oneof(fc.constantFrom('roles', orgId, belowId, '__proto__', 'constructor'), fc.string());
    const role = fc.oneof(fc.constantFrom(...plainRoles), fc.constantFrom('toString', 'Admin'), fc.string());
    fc.assert(
      fc.property(fc.dictionary(key, fc.array(role, { maxLength: 4 }), { maxKeys: 4 }), (input) => {
        try {
          const grants = grantsIn(parseRoleMap(input, orgId));
          expect(grants.every((grant) => isRole(grant.role))).toBe(true);
          expect(new Set(grants.map((grant) => `${grant.orgId} ${grant.role}`)).size).toBe(grants.length);
          expect(grants.every((grant) => grant.orgId === orgId || Object.hasOwn(input, grant.orgId))).toBe(
            true,
          );
        } catch (error) {
          if (!(error instanceof AppError)) throw error;
          expect(error.code).toBe('validation_error');
        }
      }),
    );
  });
});

describe('reachOf', () => {
  const who = (...grants: [string, 'admin' | 'users:list'][]): Principal => ({
    kind: 'user',
    userId: ulid(),
    sessionId: 's',
    grants: grants.map(([id, role]) => ({ orgId: id, role })),
  });
  const root = { id: rootId, path: [rootId] };

  it('is the organization, its subtree for administrators, everybody for those of the root', () => {
    expect(reachOf(who([orgId, 'users:list']), org, rootId)).toEqual({ kind: 'org', orgId });
    expect(reachOf(who([orgId, 'admin']), org, rootId)).toEqual({ kind: 'subtree', orgId });
    expect(reachOf(who([rootId, 'admin']), org, rootId)).toEqual({ kind: 'subtree', orgId });
    expect(reachOf(who([rootId, 'admin']), root, rootId)).toEqual({ kind: 'everyone' });
    expect(reachOf(who([rootId, 'users:list']), root, rootId)).toEqual({ kind: 'org', orgId: rootId });
  });
});

describe('parseIdList', () => {
  it('keeps ids and drops everything else', () => {
    expect(parseIdList(` ${orgId} ,x,,${belowId.toLowerCase()},${belowId}`)).toEqual([orgId, belowId]);
  });
});
