import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/support/test-database.ts';
import { createWorld } from '../../test/support/test-world.ts';
import { createDatabase, type Database, type Queryable } from '../db/database.ts';
import { systemActor } from '../kernel/call.ts';
import { sha256 } from '../kernel/secret.ts';
import { ulid } from '../kernel/ulid.ts';
import { createIntentOpener } from './intent-opener.ts';
import {
  type FinishedIntent,
  finishIntents,
  insertConfirmation,
  listOrphans,
  type NewIntent,
  openIntents,
} from './intents.store.ts';
import { createOutcomeWriter } from './outcome-writer.ts';

const openIntent = async (db: Queryable, intent: NewIntent) => (await openIntents(db, [intent]))[0];

describe('intents', () => {
  let owner: TestDatabase;
  let db: Database;
  let orgId: string;
  let epoch: number;

  beforeAll(async () => {
    owner = await createTestDatabase(inject('ownerUrl'));
    db = createDatabase({ url: owner.url, maxConnections: 8, onError: () => undefined });
    orgId = await createWorld(owner).org();
    epoch = await currentEpoch();
  });
  afterAll(async () => {
    await db.close();
    await owner.drop();
  });

  const currentEpoch = async () => {
    const [row] = await owner.query<{ epoch: string }>('select epoch from org_epochs where org_id = $1', [
      orgId,
    ]);
    return Number(row?.epoch);
  };
  const intent = (change: Partial<NewIntent> = {}): NewIntent => ({
    orgId,
    epoch,
    credentialExpiresAt: null,
    id: ulid(),
    entityId: 'E',
    deviceId: 'D',
    integrationId: 'N',
    actionId: 'switchable.open',
    principalKind: 'user',
    principalId: 'P',
    actor: systemActor,
    source: 'api',
    details: {},
    correlationId: ulid(),
    idempotencyKey: null,
    fingerprint: sha256('request'),
    confirmationHash: null,
    approval: null,
    openers: [],
    deadlineMs: 5_000,
    minIntervalMs: 0,
    counters: [],
    closeAfterMs: null,
    ...change,
  });
  const finished = (id: string, change: Partial<FinishedIntent> = {}): FinishedIntent => ({
    orgId,
    id,
    state: 'succeeded',
    result: {},
    releaseKey: false,
    outcome: 'succeeded',
    details: {},
    status: null,
    statusSource: 'test',
    ...change,
  });
  const intentCount = async () =>
    Number((await owner.query<{ n: string }>('select count(*) as n from intents'))[0]?.n);

  it('refuses a decision of an older epoch, and writes nothing', async () => {
    const before = await intentCount();
    expect(await openIntent(db.direct, intent({ epoch: epoch - 1 }))).toEqual({ kind: 'stale' });
    expect(await intentCount()).toBe(before);
  });

  it.each([
    ['a key', `update api_keys set revoked_at = now() where org_id = $1`],
    ['a role', `delete from role_grants where org_id = $1`],
    ['an agent', `update agents set revoked_at = now() where org_id = $1`],
    ['an integration', `update integrations set enabled = false where org_id = $1`],
    [
      'a user',
      `update users set deleted_at = now() where id in (select created_by_user_id from api_keys where org_id = $1)`,
    ],
    ['the organization', `update orgs set deleted_at = now() where id = $1`],
  ])('any change of %s makes a decision stale', async (_name, change) => {
    const world = createWorld(owner);
    const own = await world.org();
    const user = await world.user();
    await world.grant(own, user, 'admin');
    await world.key(own, user, { agentId: await world.agent(own, user) });
    await world.building(own);
    const [row] = await owner.query<{ epoch: string }>('select epoch from org_epochs where org_id = $1', [
      own,
    ]);
    await owner.query(change, [own]);
    expect(await openIntent(db.direct, intent({ orgId: own, epoch: Number(row?.epoch) }))).toEqual({
      kind: 'stale',
    });
  });

  it('makes decisions in descendants stale when a role above changes', async () => {
    const world = createWorld(owner);
    const parent = await world.org();
    const child = await world.org({ parentId: parent });
    const user = await world.user();
    const [row] = await owner.query<{ epoch: string }>('select epoch from org_epochs where org_id = $1', [
      child,
    ]);
    await world.grant(parent, user, 'admin');
    expect(await openIntent(db.direct, intent({ orgId: child, epoch: Number(row?.epoch) }))).toEqual({
      kind: 'stale',
    });
  });

  it('refuses a credential that expires by the clock of the database', async () => {
    expect(await openIntent(db.direct, intent({ credentialExpiresAt: new Date(0) }))).toEqual({
      kind: 'expired',
    });
  });

  it('spends a proof once among many, and only for its own request', async () => {
    const token = sha256('token');
    const proof = { orgId, tokenHash: token, fingerprint: sha256('request'), lifetimeSeconds: 600 };
    await db.inOrg(orgId, (tx) => insertConfirmation(tx, proof));
    const other = intent({ confirmationHash: token, fingerprint: sha256('other request') });
    expect(await openIntent(db.direct, other)).toEqual({ kind: 'confirmation_invalid' });
    const verdicts = await Promise.all(
      Array.from({ length: 20 }, () => openIntent(db.direct, intent({ confirmationHash: token }))),
    );
    expect(verdicts.filter((verdict) => verdict?.kind === 'opened')).toHaveLength(1);
    expect(verdicts.filter((verdict) => verdict?.kind === 'confirmation_invalid')).toHaveLength(19);
  });

  it('a proof that is too old is worth nothing', async () => {
    const token = sha256('old');
    await db.inOrg(orgId, (tx) =>
      insertConfirmation(tx, {
        orgId,
        tokenHash: token,
        fingerprint: sha256('request'),
        lifetimeSeconds: -1,
      }),
    );
    expect((await openIntent(db.direct, intent({ confirmationHash: token })))?.kind).toBe(
      'confirmation_invalid',
    );
  });

  it('finishes an intent once, whoever comes second, with one event', async () => {
    const opened = intent();
    await openIntent(db.direct, opened);
    const [first, second] = await Promise.all([
      finishIntents(db.direct, [finished(opened.id)]),
      finishIntents(db.direct, [finished(opened.id, { state: 'unknown', outcome: 'unknown' })]),
    ]);
    expect(first.get(opened.id)).toBe(second.get(opened.id));
    const events = await owner.query('select outcome from audit_events where correlation_id = $1', [
      opened.correlationId,
    ]);
    expect(events).toHaveLength(1);
  });

  it('the writer repeats a batch whose acknowledgement was lost, without a second event', async () => {
    const opened = intent();
    await openIntent(db.direct, opened);
    let losses = 1;
    const lossy: Database = {
      ...db,
      direct: {
        ...db.direct,
        query: async (query) => {
          const rows = await db.direct.query(query);
          if (losses-- > 0) throw new Error('the connection broke after the commit');
          return rows as never;
        },
      },
    };
    expect(await createOutcomeWriter(lossy).write(finished(opened.id))).toBe('succeeded');
    expect(losses).toBe(-1);
    const events = await owner.query('select outcome from audit_events where correlation_id = $1', [
      opened.correlationId,
    ]);
    expect(events).toEqual([{ outcome: 'succeeded' }]);
  });

  it('a batch of mixed requests gives each the verdict it would get alone, and leaves nothing of the refused', async () => {
    const world = createWorld(owner);
    const own = await world.org();
    const { integrationId } = await world.building(own);
    const [row] = await owner.query<{ epoch: string }>('select epoch from org_epochs where org_id = $1', [
      own,
    ]);
    const now = Number(row?.epoch);
    const proof = sha256('proof of the batch');
    const fingerprint = sha256('request');
    await db.inOrg(own, (tx) =>
      insertConfirmation(tx, { orgId: own, tokenHash: proof, fingerprint, lifetimeSeconds: 600 }),
    );
    const mine = (change: Partial<NewIntent>) => intent({ orgId: own, epoch: now, integrationId, ...change });
    const counters = ['door_opens'] as const;
    const batch = [
      mine({ idempotencyKey: 'k', counters }),
      mine({ idempotencyKey: 'k', counters }),
      mine({ epoch: now - 1, counters }),
      mine({ credentialExpiresAt: new Date(0), counters }),
      mine({ minIntervalMs: 60_000, counters }),
      mine({ minIntervalMs: 60_000, confirmationHash: proof, counters }),
      mine({ confirmationHash: sha256('another'), minIntervalMs: 60_000, counters }),
      mine({ closeAfterMs: 60_000, counters }),
    ];
    const verdicts = await openIntents(db.direct, batch);
    expect(verdicts.map((verdict) => verdict.kind)).toEqual([
      'opened',
      'exists',
      'stale',
      'expired',
      'opened',
      'interval',
      'confirmation_invalid',
      'opened',
    ]);
    const written = await owner.query<{ id: string }>(
      'select id from intents where org_id = $1 order by id',
      [own],
    );
    expect(written.map(({ id }) => id)).toEqual([batch[0], batch[4], batch[7]].map((opened) => opened?.id));
    const [counted] = await owner.query<{ n: string }>(
      'select sum(count) as n from usage_counters where org_id = $1',
      [own],
    );
    expect(Number(counted?.n)).toBe(3);
    // The interval refused the one with the proof, so the proof is still good.
    expect(await openIntent(db.direct, mine({ confirmationHash: proof }))).toEqual({ kind: 'opened' });
  });

  it('spends an approval once among many in one batch and beside it, and only for its own request', async () => {
    const approve = (name: string, expires = "now() + interval '1 hour'") =>
      owner.query(
        `insert into policy_approvals (org_id, id, policy_id, policy_type, requester_kind, requester_id,
           requester_user_id, subject_kind, subject_ref, fingerprint, status, expires_at)
         values ($1, $2, 'p', 'cedar', 'user', 'u', 'u', 'entity_action', 'e', $3, 'approved', ${expires})`,
        [orgId, ulid(), sha256(name)],
      );
    await approve('approved');
    await approve('too old', "now() - interval '1 second'");
    const asked = (name: string) =>
      intent({ approval: sha256(name), fingerprint: sha256(`the request for ${name}`) });
    const verdicts = (
      await Promise.all([
        openIntents(
          db.direct,
          Array.from({ length: 10 }, () => asked('approved')),
        ),
        openIntents(
          db.direct,
          Array.from({ length: 10 }, () => asked('approved')),
        ),
        openIntents(db.direct, [asked('too old'), asked('never asked')]),
      ])
    ).flat();
    expect(verdicts.filter(({ kind }) => kind === 'opened')).toHaveLength(1);
    expect(verdicts.filter(({ kind }) => kind === 'approval_missing')).toHaveLength(21);
  });

  it('reserves the first opener of a portal that is ready, and nothing when none is', async () => {
    const world = createWorld(owner);
    const own = await world.org();
    const slow = (await world.building(own)).integrationId;
    const quick = (await world.building(own)).integrationId;
    const [row] = await owner.query<{ epoch: string }>('select epoch from org_epochs where org_id = $1', [
      own,
    ]);
    const portal = (more: Partial<NewIntent> = {}) =>
      intent({ orgId: own, epoch: Number(row?.epoch), openers, fingerprint: sha256('portal'), ...more });
    const opener = (integrationId: string, entityId: string) => ({
      entityId,
      integrationId,
      minIntervalMs: 60_000,
    });
    const openers = [opener(slow, 'slow'), opener(quick, 'quick')];
    const token = sha256('a proof for a portal');
    const proof = { orgId: own, tokenHash: token, fingerprint: sha256('portal'), lifetimeSeconds: 600 };
    await db.inOrg(own, (tx) => insertConfirmation(tx, proof));
    const portals = [0, 1, 2, 3].map(() => portal());
    const verdicts = await openIntents(db.direct, portals);
    expect(verdicts.map(({ kind }) => kind).sort()).toEqual(['interval', 'interval', 'opened', 'opened']);
    const [refused] = verdicts.filter((verdict) => verdict.kind === 'interval');
    expect(refused?.waitMs).toBeGreaterThan(50_000);
    const reserved = await owner.query<{ opener: string }>(
      'select reserved_opener_id as opener from intents where id = any($1) order by 1',
      [portals.map(({ id }) => id)],
    );
    expect(reserved.map((row) => row.opener)).toEqual(['quick', 'slow']);
    const proven = portal({ confirmationHash: token });
    expect((await openIntents(db.direct, [proven]))[0]?.kind).toBe('interval');
    const free = [...openers, { entityId: 'free', integrationId: ulid(), minIntervalMs: 0 }];
    expect(await openIntents(db.direct, [{ ...proven, openers: free }])).toEqual([{ kind: 'opened' }]);
  });

  it('one that can not be written does not refuse those it was gathered with', async () => {
    const opener = createIntentOpener(db);
    const broken = intent({ details: { name: 'no\u0000text' } });
    const good = [intent(), intent()];
    const verdicts = await Promise.allSettled([
      opener.open(good[0] as NewIntent),
      opener.open(broken),
      opener.open(good[1] as NewIntent),
    ]);
    expect(verdicts.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    const outcomes = createOutcomeWriter(db);
    const states = await Promise.allSettled([
      outcomes.write(finished(good[0]?.id ?? '')),
      outcomes.write(finished(good[1]?.id ?? '', { details: { reason: 'device said \u0000' } })),
    ]);
    expect(states).toMatchObject([{ status: 'fulfilled', value: 'succeeded' }, { status: 'rejected' }]);
  });

  it('takes an intent for lost only well after its deadline', async () => {
    const fresh = intent({ deadlineMs: 600_000 });
    const old = intent({ deadlineMs: -20_000 });
    await openIntent(db.direct, fresh);
    await openIntent(db.direct, old);
    const orphans = await db.asService((tx) => listOrphans(tx, 15, 100));
    expect(orphans.map((orphan) => orphan.id)).toContain(old.id);
    expect(orphans.map((orphan) => orphan.id)).not.toContain(fresh.id);
  });
});
