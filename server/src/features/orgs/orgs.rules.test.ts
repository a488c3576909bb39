import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isMember, type Principal } from '../../kernel/call.ts';
import { changedFields, judgePlacement, maxDepth, mayListUsers, ownRoles, sightOf } from './orgs.rules.ts';
import type { Org } from './orgs.store.ts';

const orgAt = (path: string[], extra: Partial<Org> = {}): Org => ({
  id: path.at(-1) ?? '',
  parentId: path.at(-2) ?? null,
  path,
  name: { en: 'Org' },
  description: null,
  isPersonal: false,
  timezone: null,
  defaultLocale: 'en',
  createdAt: new Date(0),
  updatedAt: new Date(0),
  deletedAt: null,
  ...extra,
});
const user = (...grants: Principal['grants']): Principal => ({
  kind: 'user',
  userId: 'u',
  sessionId: 's',
  grants,
});
const agent = (...grants: Principal['grants']): Principal => ({
  kind: 'agent',
  userId: 'u',
  agentId: 'g',
  keyId: 'k',
  org: { id: 'a', path: ['r', 'a'], epoch: 1, timezone: null, defaultLocale: 'en', deletedAt: null },
  expiresAt: new Date(0),
  allowedEntityIds: [],
  confirmationMode: 'policy',
  grants,
});

describe('sight', () => {
  it('is membership, for every principal and every place in the tree', () => {
    const ids = fc.constantFrom('r', 'a', 'b', 'c', 'd');
    const grants = fc.array(
      fc.record({ orgId: ids, role: fc.constantFrom('admin', 'orgs:read', 'users:list') }),
    );
    const path = fc.uniqueArray(ids, { minLength: 1 });
    fc.assert(
      fc.property(grants, path, fc.boolean(), (held, places, isAgent) => {
        const principal = isAgent ? agent(...held) : user(...held);
        const org = orgAt(places);
        const { memberOf, adminOf } = sightOf(principal);
        const seen = memberOf.includes(org.id) || adminOf.some((id) => org.path.includes(id));
        expect(seen).toBe(isMember(principal, org));
      }),
    );
  });
});

describe('roles shown', () => {
  const org = orgAt(['r', 'a']);

  it('are everyone’s only for those who may list users, never for agents', () => {
    expect(mayListUsers(user({ orgId: 'a', role: 'users:list' }), org)).toBe(true);
    expect(mayListUsers(user({ orgId: 'r', role: 'admin' }), org)).toBe(true);
    expect(mayListUsers(user({ orgId: 'r', role: 'users:list' }), org)).toBe(false);
    expect(mayListUsers(user({ orgId: 'a', role: 'orgs:read' }), org)).toBe(false);
    expect(mayListUsers(agent({ orgId: 'a', role: 'admin' }), org)).toBe(false);
  });

  it('are otherwise the caller’s own in this very organization', () => {
    const caller = user({ orgId: 'a', role: 'zones:list' }, { orgId: 'a', role: 'execute' });
    expect(ownRoles(caller, org)).toEqual({ u: ['execute', 'zones:list'] });
    expect(ownRoles(user({ orgId: 'b', role: 'execute' }), org)).toEqual({});
  });
});

describe('placement', () => {
  const one = { rootId: 'x', height: 1 };
  const deepPath = Array.from({ length: maxDepth }, (_, level) => `l${level}`);
  const rootAdmin = user({ orgId: 'r', role: 'admin' }, { orgId: 'l0', role: 'admin' });

  it.each([
    ['ok', rootAdmin, orgAt(['r', 'a']), one],
    ['not_found', rootAdmin, null, one],
    ['not_found', rootAdmin, orgAt(['r', 'a'], { deletedAt: new Date(0) }), one],
    ['not_found', user({ orgId: 'b', role: 'admin' }), orgAt(['r', 'a']), one],
    ['forbidden', user({ orgId: 'a', role: 'orgs:create' }), orgAt(['r', 'a']), one],
    ['personal', rootAdmin, orgAt(['r', 'a'], { isPersonal: true }), one],
    ['cycle', rootAdmin, orgAt(['r', 'x']), one],
    ['ok', rootAdmin, orgAt(['r', 'x']), { rootId: null, height: 1 }],
    ['cycle', rootAdmin, orgAt(['r', 'x', 'y']), { rootId: 'x', height: 2 }],
    ['ok', rootAdmin, orgAt(deepPath.slice(0, -1)), one],
    ['too_deep', rootAdmin, orgAt(deepPath), one],
    ['ok', rootAdmin, orgAt(deepPath.slice(0, -3)), { rootId: 'x', height: 3 }],
    ['too_deep', rootAdmin, orgAt(deepPath.slice(0, -2)), { rootId: 'x', height: 3 }],
  ] as const)('is %s (case %#)', (verdict, principal, parent, subtree) => {
    const placement = judgePlacement(principal, parent, subtree);
    expect(placement).toEqual(verdict === 'ok' ? { ok: true, parent } : { ok: false, reason: verdict });
  });
});

describe('changed fields', () => {
  it('names what differs, whatever the order of the languages', () => {
    const before = { name: { en: 'A', de: 'B' }, description: null };
    expect(changedFields(before, { name: { de: 'B', en: 'A' }, description: null })).toEqual([]);
    expect(changedFields(before, { name: { en: 'A' }, description: '' })).toEqual(['name', 'description']);
  });
});
