import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commandTo, connectProvider, entityOf } from '../../test/support/connected-provider.ts';
import type { Command, Delivery, Health, Relay } from './provider.ts';
import { virtualAccess } from './virtual-access/virtual-access.provider.ts';

interface Sent {
  readonly entityId: string;
  readonly verb: string;
  readonly pulseSeconds: number | null;
  readonly command: Command;
}

function siteWith(answers: Record<string, Delivery | null>, health: Record<string, Health> = {}) {
  const sent: Sent[] = [];
  const relay: Relay = {
    send: async (command, entityId, verb, pulseSeconds) => {
      sent.push({ command, entityId, verb, pulseSeconds });
      return answers[entityId] ?? null;
    },
    health: (entityId) => health[entityId] ?? 'error',
  };
  const config = { light_auto_off_seconds: 7 };
  const { connection } = connectProvider(virtualAccess, { config, relay });
  const entity = entityOf({
    deviceMetadata: {
      kind: 'virtual_access_portal',
      virtual_access: {
        openers: Object.keys(answers).map((entity_id) => ({ entity_id })),
        lights: [{ entity_id: 'lamp' }, { entity_id: 'dark', auto_off_config: { auto_off_seconds: 0 } }],
      },
    },
  });
  connection.bind([entity]);
  return {
    sent,
    health: connection.health,
    open: (withinMs = 5_000) => connection.actions.open?.(commandTo(entity, { pulseSeconds: 3, withinMs })),
    close: () => connection.actions.close?.(commandTo(entity)),
  };
}

const delivered: Delivery = { kind: 'delivered', observed: 'open' };
const refused: Delivery = { kind: 'refused', reason: 'no' };
const notSent: Delivery = { kind: 'not_sent', reason: 'away' };
const soon: Delivery = { kind: 'not_sent', reason: 'wait', retryAfterMs: 900 };
const unknown: Delivery = { kind: 'unknown', reason: 'silence' };
const closed: Delivery = { kind: 'delivered', observed: 'closed' };

describe('an open', () => {
  it('never goes on after an opener that moved or may have moved, and else always does', async () => {
    const answer = fc.constantFrom<Delivery | null>(delivered, refused, notSent, soon, unknown, null);
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { maxLength: 6 }), async (answers) => {
        const site = siteWith(Object.fromEntries(answers.map((one, index) => [`opener${index}`, one])));
        const result = await site.open();
        const end = answers.findIndex((one) => one?.kind === 'delivered' || one?.kind === 'unknown');
        const tried = site.sent.filter(({ entityId }) => entityId.startsWith('opener'));
        expect(tried).toHaveLength(end === -1 ? answers.length : end + 1);
        expect(tried.every(({ pulseSeconds }) => pulseSeconds === 3)).toBe(true);
        if (end !== -1) expect(result).toBe(answers[end]);
        else expect(result?.kind).toBe(answers.includes(refused) ? 'refused' : 'not_sent');
        const lit = site.sent.filter(({ entityId }) => ['lamp', 'dark'].includes(entityId));
        expect(lit).toHaveLength(result?.kind === 'delivered' ? 2 : 0);
      }),
    );
  });

  it('says when to come again, if it was only too soon for an opener', async () => {
    expect(await siteWith({ a: notSent, b: soon }).open()).toMatchObject({ retryAfterMs: 900 });
  });

  it('leaves time for those that wait behind a slow opener', async () => {
    const site = siteWith({ a: notSent, b: notSent, c: delivered });
    await site.open();
    const [a, b, c] = site.sent.map(({ command }) => command.deadlineMs);
    expect([Math.round((c ?? 0) - (b ?? 0)), Math.round((c ?? 0) - (a ?? 0))]).toEqual([1_000, 2_000]);
  });

  it('switches lights on for their time: their own, else that of the site; 0 is for ever', async () => {
    const site = siteWith({ a: delivered });
    await site.open();
    expect(site.sent.map(({ entityId, pulseSeconds }) => [entityId, pulseSeconds])).toEqual([
      ['a', 3],
      ['lamp', 7],
      ['dark', null],
    ]);
  });

  it('sends nothing after the deadline', async () => {
    const site = siteWith({ a: delivered });
    expect(await site.open(-1)).toMatchObject({ kind: 'not_sent' });
    expect(site.sent).toEqual([]);
  });
});

describe('a close', () => {
  it.each<[string, Record<string, Delivery | null>, Partial<Delivery>]>([
    ['nothing that can be closed', { a: null, b: null }, { kind: 'delivered', observed: null }],
    ['all closed', { a: closed, b: closed }, { kind: 'delivered', observed: 'closed' }],
    ['one of them unseen', { a: closed, b: { kind: 'delivered', observed: null } }, { observed: null }],
    ['one closes, one does not', { a: closed, b: notSent }, { kind: 'unknown' }],
    ['none could be reached', { a: notSent, b: null }, { kind: 'not_sent' }],
    ['one refuses, the other is away', { a: notSent, b: refused }, { kind: 'refused' }],
    ['one of unknown fate', { a: refused, b: unknown }, { kind: 'unknown' }],
  ])('of %s', async (_what, answers, expected) => {
    const site = siteWith(answers);
    expect(await site.close()).toMatchObject(expected);
    expect(site.sent.map(({ entityId, verb }) => [entityId, verb])).toEqual([
      ['a', 'close'],
      ['b', 'close'],
    ]);
  });
});

it.each<[Record<string, Health>, Health]>([
  [{ a: 'ok', b: 'ok' }, 'ok'],
  [{ a: 'ok', b: 'error' }, 'reduced'],
  [{ a: 'reduced', b: 'error' }, 'reduced'],
  [{ a: 'error', b: 'error' }, 'error'],
  [{}, 'ok'],
])('with openers %o a site is %s', (health, expected) => {
  const answers = Object.fromEntries(Object.keys(health).map((id) => [id, null]));
  expect(siteWith(answers, health).health()).toBe(expected);
});
