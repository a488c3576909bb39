// design/reliability.md test 27 in small: pages are walked while others write, some of them slowly.
import type { AuditRecord } from '@lintel/contract/audit';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { ulid } from '../../kernel/ulid.ts';

const committedBefore = 1_500;
const pageSize = 25;

describe('a walk through the audit while events are written', () => {
  let app: TestApp;
  let token: string;

  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());

  /** Events in bursts: several share a microsecond, hundreds a millisecond, some lie in the default partition. */
  const seed = async (orgId: string): Promise<string[]> => {
    const ids = Array.from({ length: committedBefore }, () => ulid());
    await app.db.query(
      `insert into audit_events (org_id, id, occurred_at, event_type, outcome, source, actor_kind)
       select $1, e.id, date_trunc('second', now()) - (e.n / 500) * interval '20 hours' - (e.n % 500 / 3) * interval '1 us',
         'entity.action', 'succeeded', 'api', 'system'
       from unnest($2::text[]) with ordinality as e (id, n)`,
      [orgId, ids],
    );
    return ids;
  };

  const begin = async () => {
    const orgId = await app.world.org();
    const userId = await app.world.user();
    await app.world.grant(orgId, userId, 'admin');
    token = (await app.world.key(orgId, userId)).token;
    return { orgId, before: await seed(orgId) };
  };

  const insert = `insert into audit_events (org_id, id, event_type, outcome, source, actor_kind)
    values ($1, $2, 'entity.action', 'succeeded', 'api', 'system')`;

  /** Keeps inserting until told to stop; the slow one keeps its transactions open over many pages. */
  const startWriters = (orgId: string) => {
    let stopped = false;
    const quick = async () => {
      while (!stopped) await app.db.query(insert, [orgId, ulid()]);
    };
    const slow = async () => {
      const client = new pg.Client({ connectionString: app.db.url });
      await client.connect();
      while (!stopped) {
        await client.query('begin');
        await client.query(insert, [orgId, ulid()]);
        await new Promise((resume) => setTimeout(resume, 40));
        await client.query('commit');
      }
      await client.end();
    };
    const running = Promise.all([quick(), slow()]);
    return async () => {
      stopped = true;
      await running;
    };
  };

  const lookedAt = (seen: readonly string[], before: readonly string[]) => {
    const wanted = new Set(before);
    const met = seen.filter((id) => wanted.has(id));
    return { duplicates: met.length - new Set(met).size, missing: wanted.size - new Set(met).size };
  };

  type NextPage = (seen: readonly string[]) => Promise<{ ids: string[]; more: boolean }>;
  const walk = async (orgId: string, next: NextPage): Promise<string[]> => {
    const stop = startWriters(orgId);
    const seen: string[] = [];
    try {
      for (let more = true; more; ) {
        const page = await next(seen);
        seen.push(...page.ids);
        more = page.more;
      }
    } finally {
      await stop();
    }
    return seen;
  };

  it('meets every event committed before it exactly once', async () => {
    const { orgId, before } = await begin();
    let cursor: string | null = null;
    const seen = await walk(orgId, async () => {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`;
      const { body } = await app.request('GET', `/orgs/${orgId}/audit/events?limit=${pageSize}${query}`, {
        token,
      });
      cursor = body.next_cursor as string | null;
      return { ids: (body.items as AuditRecord[]).map(({ id }) => id), more: cursor !== null };
    });
    expect(lookedAt(seen, before)).toEqual({ duplicates: 0, missing: 0 });
  });

  describe('would not, by the same load, if the place were kept', () => {
    const order = 'order by occurred_at desc, id desc';
    const page = async (text: string, values: unknown[]) => {
      const rows = await app.db.query<{ id: string; occurred_at: Date }>(text, values);
      return { ids: rows.map(({ id }) => id), more: rows.length > 0, last: rows.at(-1) };
    };

    it('as an offset', async () => {
      const { orgId, before } = await begin();
      const seen = await walk(orgId, async (already) => {
        const text = `select id from audit_events where org_id = $1 ${order} limit ${pageSize} offset $2`;
        const found = await page(text, [orgId, already.length]);
        // An offset runs after the end of what grows in front of it: by now it has shown what it is.
        return { ...found, more: found.more && already.length < 3 * before.length };
      });
      expect(lookedAt(seen, before).duplicates).toBeGreaterThan(0);
    });

    it('in milliseconds', async () => {
      const { orgId, before } = await begin();
      let last = { occurred_at: new Date('2999-01-01'), id: '' };
      const seen = await walk(orgId, async () => {
        const text = `select id, occurred_at from audit_events
          where org_id = $1 and (occurred_at, id) < ($2, $3) ${order} limit ${pageSize}`;
        const found = await page(text, [orgId, last.occurred_at, last.id]);
        last = found.last ?? last;
        return found;
      });
      expect(lookedAt(seen, before).missing).toBeGreaterThan(0);
    });
  });
});
