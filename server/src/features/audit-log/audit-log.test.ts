import type { AuditRecord } from '@lintel/contract/audit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { rootAdminId, rootOrgId } from '../../../test/support/test-world.ts';
import { ulid } from '../../kernel/ulid.ts';

interface Seed {
  readonly type?: string;
  readonly outcome?: string;
  readonly kind?: string;
  readonly user?: string | null;
  readonly guest?: string | null;
  readonly resource?: [type: string, id: string];
  readonly correlation?: string;
  readonly details?: object;
  /** SQL that gives the time. */
  readonly at?: string;
}

describe('audit events', () => {
  let app: TestApp;
  let orgId: string;
  let childId: string;
  let admin: string;
  let reader: string;
  let readerId: string;

  beforeAll(async () => {
    app = await startTestApp();
    orgId = await app.world.org();
    childId = await app.world.org({ parentId: orgId });
    const adminId = await app.world.user();
    await app.world.grant(orgId, adminId, 'admin');
    readerId = await app.world.user();
    await app.world.grant(orgId, readerId, 'audit:read', 'agents:manage', 'entities:list');
    admin = (await app.world.key(orgId, adminId)).token;
    reader = (await app.world.key(orgId, readerId)).token;
  });
  afterAll(() => app.close());

  const seed = async (org: string, event: Seed = {}): Promise<string> => {
    const id = ulid();
    const [resourceType, resourceId] = event.resource ?? [null, null];
    await app.db.query(
      `insert into audit_events (org_id, id, occurred_at, event_type, outcome, source, actor_kind, actor_user_id,
         actor_guest_id, resource_type, resource_id, correlation_id, details)
       values ($1, $2, ${event.at ?? 'clock_timestamp()'}, $3, $4, 'api', $5, $6, $7, $8, $9, $10, $11)`,
      [
        org,
        id,
        event.type ?? 'entity.action',
        event.outcome ?? 'succeeded',
        event.kind ?? 'user',
        event.user ?? null,
        event.guest ?? null,
        resourceType,
        resourceId,
        event.correlation ?? null,
        event.details ?? {},
      ],
    );
    return id;
  };
  const list = (org: string, query: Record<string, string | number> = {}, token = admin) => {
    const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
    return app.request('GET', `/orgs/${org}/audit/events?${search}`, { token });
  };
  const ids = async (...request: Parameters<typeof list>): Promise<string[]> => {
    const answer = await list(...request);
    expect(answer.status, answer.text).toBe(200);
    return (answer.body.items as AuditRecord[]).map(({ id }) => id);
  };
  const refusal = async (...request: Parameters<typeof list>) => {
    const { status, body } = await list(...request);
    return [status, body.code];
  };

  it('shows what happened with the correlation id of the answer', async () => {
    const made = await app.request('POST', '/agents', { token: reader, body: { name: 'Seen' } });
    const correlationId = String(made.headers['x-request-id']);
    const { body } = await list(orgId, { correlation_id: correlationId });
    const event = {
      event_type: 'agent.created',
      outcome: 'succeeded',
      source: 'api',
      actor_kind: 'api_key',
      actor_user_id: readerId,
      actor_agent_id: null,
      actor_guest_id: null,
      resource_type: 'agent',
      resource_id: made.body.id,
      correlation_id: correlationId,
      org_id: orgId,
      details: { resource_name: 'Seen' },
    };
    expect(body).toMatchObject({ items: [event], next_cursor: null });
  });

  it.each([
    ['event_type', 'invite.redeemed', { type: 'invite.redeemed' }],
    ['outcome', 'unknown', { outcome: 'unknown' }],
    ['resource_type', 'kiosk', { resource: ['kiosk', 'r'] }],
    ['resource_id', 'R-1', { resource: ['entity', 'R-1'] }],
    ['actor_user_id', 'U-1', { user: 'U-1' }],
    ['actor_guest_id', 'G-1', { guest: 'G-1', kind: 'guest' }],
    ['actor_kind', 'system', { kind: 'system' }],
    ['correlation_id', 'C-1', { correlation: 'C-1' }],
    ['target_id', 'P-1', { details: { public_portal_id: 'P-1' } }],
    ['resource_name', 'HAUPTEIN', { details: { resource_name: 'Der Haupteingang' } }],
    ['resource_name', 'tür', { details: { resource_name: { de: 'Seitentür', en: 'Side door' } } }],
    ['door_name', 'garage', { details: { door_name: 'Garage 100% offen' } }],
    ['door_name', '0% o', { details: { door_name: 'Garage 100% offen' } }],
  ] as [string, string, Seed][])('filters by %s=%s', async (name, value, event) => {
    const org = await app.world.org({ parentId: orgId });
    await seed(org, {
      details: { resource_name: 'Other', door_name: 'Other' },
      user: 'U-0',
      correlation: 'C-0',
    });
    const wanted = await seed(org, event);
    expect(await ids(org, { [name]: value })).toEqual([wanted]);
  });

  it('takes wildcards and locale names in a searched name as plain text', async () => {
    const org = await app.world.org({ parentId: orgId });
    await seed(org, { details: { resource_name: 'abc', door_name: { en: 'abc' } } });
    for (const part of ['%', '_', 'a%c', '\\', '"'])
      expect(await ids(org, { resource_name: part }), part).toEqual([]);
    for (const part of ['en', '{', ':']) expect(await ids(org, { door_name: part }), part).toEqual([]);
    expect(await ids(org, { resource_name: 'B' })).toHaveLength(1);
  });

  it('joins filters with and', async () => {
    const org = await app.world.org({ parentId: orgId });
    const both = await seed(org, { outcome: 'denied', user: 'U-2' });
    await seed(org, { outcome: 'denied', user: 'U-3' });
    await seed(org, { outcome: 'failed', user: 'U-2' });
    expect(await ids(org, { outcome: 'denied', actor_user_id: 'U-2' })).toEqual([both]);
  });

  it('takes both times as inclusive, to the millisecond that answers show', async () => {
    const org = await app.world.org({ parentId: orgId });
    const at = `'${new Date(Date.now() - 3_600_000).toISOString()}'::timestamptz`;
    const early = await seed(org, { at: `${at} - interval '1 microsecond'` });
    const first = await seed(org, { at });
    const last = await seed(org, { at: `${at} + interval '999 microseconds'` });
    const late = await seed(org, { at: `${at} + interval '1 millisecond'` });
    const { body } = await list(org);
    const shown = new Map((body.items as AuditRecord[]).map((item) => [item.id, item.occurred_at]));
    const time = String(shown.get(first));
    expect(shown.get(last)).toBe(time);
    expect(await ids(org, { occurred_after: time, occurred_before: time })).toEqual([last, first]);
    expect(await ids(org, { occurred_after: time })).toEqual([late, last, first]);
    expect(await ids(org, { occurred_before: time })).toEqual([last, first, early]);
  });

  it('lists 30 days and refuses to be asked for more', async () => {
    const org = await app.world.org({ parentId: orgId });
    await seed(org, { at: "now() - interval '30 days 1 hour'" });
    const kept = await seed(org, { at: "now() - interval '29 days 23 hours'" });
    expect(await ids(org)).toEqual([kept]);
    const ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
    expect(await ids(org, { occurred_after: ago(29.99) })).toEqual([kept]);
    const tooOld = [400, 'audit_range_exceeds_hot_window'];
    expect(await refusal(org, { occurred_after: ago(30.01) })).toEqual(tooOld);
    expect(await refusal(org, { occurred_before: ago(31) })).toEqual(tooOld);
    expect(await refusal(org, { occurred_after: 'last week' })).toEqual([400, 'validation_error']);
  });

  describe('pages', () => {
    it('end with next_cursor null, exactly on the last event', async () => {
      const org = await app.world.org({ parentId: orgId });
      for (let count = 0; count < 4; count += 1) await seed(org);
      const first = await list(org, { limit: 2 });
      const second = await list(org, { limit: 2, cursor: String(first.body.next_cursor) });
      expect(first.body.items).toHaveLength(2);
      expect(second.body.items).toHaveLength(2);
      expect(second.body.next_cursor).toBeNull();
      expect((await list(org, { limit: 4 })).body.next_cursor).toBeNull();
    });

    it('are empty with limit 0, and the other parameters are still checked', async () => {
      await seed(orgId);
      expect((await list(orgId, { limit: 0 })).body).toEqual({ items: [], next_cursor: null });
      expect((await refusal(orgId, { limit: 0, cursor: 'x' }))[0]).toBe(400);
      expect((await refusal(orgId, { limit: 201 }))[0]).toBe(400);
      expect((await refusal(orgId, { limit: -1 }))[0]).toBe(400);
    });

    it('do not take a cursor that is broken or of another organization', async () => {
      const org = await app.world.org({ parentId: orgId });
      await seed(org);
      await seed(org);
      const cursor = String((await list(org, { limit: 1 })).body.next_cursor);
      const bad = [400, 'validation_error'];
      expect(await refusal(childId, { cursor })).toEqual(bad);
      for (const text of ['', 'x', `${cursor}A`, cursor.slice(1), `A${cursor.slice(1)}`])
        expect(await refusal(org, { cursor: text }), text).toEqual(bad);
    });

    it('may be narrowed half-way', async () => {
      const org = await app.world.org({ parentId: orgId });
      const old = await seed(org, { outcome: 'denied' });
      await seed(org);
      await seed(org, { outcome: 'denied' });
      const cursor = String((await list(org, { limit: 1 })).body.next_cursor);
      expect(await ids(org, { cursor, outcome: 'denied' })).toEqual([old]);
    });
  });

  describe('organizations', () => {
    it('administrators get the sub-organizations too, unless they ask for one', async () => {
      const above = await seed(orgId, { correlation: 'tree' });
      const below = await seed(childId, { correlation: 'tree' });
      const tree = { correlation_id: 'tree' };
      expect(await ids(orgId, tree)).toEqual([below, above]);
      expect(await ids(orgId, { ...tree, org_scope: 'subtree' })).toEqual([below, above]);
      expect(await ids(orgId, { ...tree, org_scope: 'self' })).toEqual([above]);
      expect(await ids(childId, tree)).toEqual([below]);
      const platform = (await app.world.key(rootOrgId, rootAdminId)).token;
      expect(await ids(rootOrgId, tree, platform)).toEqual([below, above]);
    });

    it('other readers get their own, and are told when they ask for more', async () => {
      const above = await seed(orgId, { correlation: 'plain' });
      await seed(childId, { correlation: 'plain' });
      expect(await ids(orgId, { correlation_id: 'plain' }, reader)).toEqual([above]);
      expect(await refusal(orgId, { org_scope: 'subtree' }, reader)).toEqual([403, 'forbidden']);
      expect(await refusal(childId, {}, reader)).toEqual([404, 'not_found']);
    });

    it('are never those beside', async () => {
      const beside = await app.world.org();
      await seed(beside, { correlation: 'beside' });
      expect(await ids(orgId, { correlation_id: 'beside' })).toEqual([]);
      expect(await refusal(beside)).toEqual([404, 'not_found']);
    });

    it('an agent reads its own organization with its owner’s right', async () => {
      const own = await seed(orgId, { correlation: 'agent' });
      await seed(childId, { correlation: 'agent' });
      const ownerId = await app.world.user();
      await app.world.grant(orgId, ownerId, 'admin');
      const agentId = await app.world.agent(orgId, ownerId);
      const { token } = await app.world.key(orgId, ownerId, { agentId });
      expect(await ids(orgId, { correlation_id: 'agent' }, token)).toEqual([own]);
      expect(await refusal(orgId, { org_scope: 'subtree' }, token)).toEqual([403, 'forbidden']);
    });

    it('a reader needs the role', async () => {
      const userId = await app.world.user();
      await app.world.grant(orgId, userId, 'entities:list');
      const { token } = await app.world.key(orgId, userId);
      expect(await refusal(orgId, {}, token)).toEqual([403, 'forbidden']);
    });
  });
});
