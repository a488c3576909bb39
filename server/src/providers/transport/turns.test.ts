import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createTurns } from './turns.ts';

const patient = { urgent: false, withinMs: 10_000 };

describe('turns', () => {
  it('let one piece of work run at a time, the urgent before the rest', async () => {
    const turns = createTurns();
    const order: string[] = [];
    const step = (name: string) => async () => {
      order.push(`${name} begins`);
      await delay(2);
      order.push(`${name} ends`);
    };
    await Promise.all([
      turns.take(patient, step('first')),
      turns.take(patient, step('reading')),
      turns.take({ urgent: true, withinMs: 10_000 }, step('command')),
    ]);
    expect(order).toEqual([
      'first begins',
      'first ends',
      'command begins',
      'command ends',
      'reading begins',
      'reading ends',
    ]);
  });

  it('never begin what has waited too long', async () => {
    const turns = createTurns();
    let begun = false;
    const blocking = turns.take(patient, () => delay(60));
    const late = await turns.take({ urgent: true, withinMs: 10 }, async () => {
      begun = true;
    });
    await blocking;
    await turns.take(patient, async () => undefined);
    expect({ late, begun }).toEqual({ late: null, begun: false });
  });

  it('go on after work that failed', async () => {
    const turns = createTurns();
    await expect(turns.take(patient, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await turns.take(patient, async () => 'next')).toBe('next');
  });
});
