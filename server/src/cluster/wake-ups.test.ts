import { describe, expect, it } from 'vitest';
import type { WakeUp } from './node-bus.ts';
import { createWakeUps, parseWakeUp } from './wake-ups.ts';

describe('wake-ups', () => {
  function record(isAlone = false) {
    const sent: WakeUp[] = [];
    const send = async (wakeUp: WakeUp) => void sent.push(wakeUp);
    return { sent, wakeUps: createWakeUps({ send, isAlone: () => isAlone, withinMs: 60_000 }) };
  }

  it('are one for all changes of a moment, each organization once', async () => {
    const { sent, wakeUps } = record();
    for (let index = 0; index < 100; index += 1) wakeUps.changed(index % 2 === 0 ? 'A' : 'B');
    wakeUps.leasesChanged();
    await wakeUps.settled();
    expect(sent).toEqual([{ orgIds: ['A', 'B'], leases: true }]);
    await wakeUps.settled();
    expect(sent).toHaveLength(1);
  });

  it('name every organization and fit into a payload, however many there are', async () => {
    const { sent, wakeUps } = record();
    const ids = Array.from({ length: 1_001 }, (_, index) => String(index).padStart(26, '0'));
    for (const id of ids) wakeUps.changed(id);
    await wakeUps.settled();
    expect(sent.flatMap(({ orgIds }) => orgIds)).toEqual(ids);
    for (const wakeUp of sent) {
      const text = JSON.stringify(wakeUp);
      expect(text.length).toBeLessThan(8_000);
      expect(parseWakeUp(text)).toEqual(wakeUp);
    }
  });

  it('are not sent where nobody listens', async () => {
    const { sent, wakeUps } = record(true);
    wakeUps.changed('A');
    await wakeUps.settled();
    expect(sent).toEqual([]);
  });

  it.each(['', '{', '[]', '{"orgIds":[1],"leases":true}', '{"orgIds":[]}'])(
    'are nothing else: %s',
    (text) => {
      expect(parseWakeUp(text)).toBeNull();
    },
  );
});
