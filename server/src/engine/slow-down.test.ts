import { describe, expect, it } from 'vitest';
import type { Database } from '../db/database.ts';
import type { Call } from '../kernel/call.ts';
import { StaleDecision } from '../kernel/stale-decision.ts';
import type { Slowdown } from '../quota/slowdown.rules.ts';
import type { PreparedAction } from './prepare-action.ts';
import { createSlowDown } from './slow-down.ts';

const slowdown: Slowdown = { key: 'door_opens', period: 'day', current: 6, limit: 5, delayMs: 1_000 };
const action = {
  org: { id: 'org' },
  principal: { kind: 'user', userId: 'user' },
  verb: 'open',
  target: { integrationId: 'integration' },
  minIntervalMs: 0,
  openers: [] as const,
} as unknown as PreparedAction;
const callOf = (correlationId: string, isGone = () => false) => ({ correlationId, isGone }) as Call;

function create() {
  const waited: number[] = [];
  const use = { next: async () => ({ slowdown, count: () => undefined }), limits: async () => [] };
  const wait = async (ms: number) => void waited.push(ms);
  // No interval of this integration was ever reserved.
  const db = { inOrg: (_: string, work: (tx: unknown) => unknown) => work({ maybeOne: async () => null }) };
  return { slowDown: createSlowDown({ db: db as unknown as Database, use, wait }), waited };
}

describe('an open above the limit', () => {
  it('waits and tells for what', async () => {
    const { slowDown, waited } = create();
    expect(await slowDown.before(callOf('a'), action, null)).toMatchObject({
      stage: 'degraded',
      key: 'door_opens',
      period: 'day',
      current: 6,
      limit: 5,
      delayed_ms: 1_000,
    });
    expect(waited).toEqual([1_000]);
  });

  it('waits once, even if the organization changes meanwhile and it starts over', async () => {
    const { slowDown, waited } = create();
    const first = await slowDown.before(callOf('a'), action, null);
    if (first !== null) slowDown.credit(callOf('a'), action, first);
    expect(await slowDown.before(callOf('a'), action, null)).toBe(first);
    expect(waited).toEqual([1_000]);
    await slowDown.before(callOf('a'), action, null);
    expect(waited).toEqual([1_000, 1_000]);
  });

  it('waits for nothing that only memory says', async () => {
    const { slowDown, waited } = create();
    const recalled = slowDown.before({ ...callOf('a'), recalled: true }, action, null);
    await expect(recalled).rejects.toBeInstanceOf(StaleDecision);
    expect(waited).toEqual([]);
  });

  it('ends there when its caller has left', async () => {
    const { slowDown } = create();
    const left = slowDown.before(
      callOf('a', () => true),
      action,
      null,
    );
    await expect(left).rejects.toMatchObject({ code: 'request_timeout' });
  });
});
