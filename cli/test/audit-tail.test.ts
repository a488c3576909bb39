import { afterEach, describe, expect, it } from 'vitest';
import { runCli } from './support/run-cli.ts';
import { startTwin, type TwinService } from './support/twin-service.ts';

let twin: TwinService | null = null;

afterEach(async () => {
  await twin?.close();
  twin = null;
});

const started = Date.parse('2026-01-01T00:00:00.000Z');
const event = (ms: number, name = `t${ms}`) => ({
  id: `id-${name}`,
  occurred_at: new Date(started + ms).toISOString(),
  event_type: name,
  outcome: 'succeeded',
  details: {},
  resource_type: null,
  resource_id: null,
  actor_kind: 'user',
});
type Event = ReturnType<typeof event>;

/** Answers as the log does: newest first, from `occurred_after` on, page by page. */
function pageOf(log: readonly Event[], query: URLSearchParams) {
  const after = query.get('occurred_after') ?? '';
  const from = Number(query.get('cursor') ?? 0);
  const until = from + Number(query.get('limit'));
  const found = log
    .filter(({ occurred_at }) => occurred_at >= after)
    .toSorted((a, b) => b.occurred_at.localeCompare(a.occurred_at));
  return { items: found.slice(from, until), next_cursor: until < found.length ? String(until) : null };
}

/** What is printed while the log grows by one step for each look at its beginning; the looks go on after the last. */
async function follow(log: Event[], growth: readonly (readonly Event[])[], flags: readonly string[] = []) {
  const stop = new AbortController();
  let looks = 0;
  twin = await startTwin(({ path }) => {
    if (path === '/me/profile') return [200, { org_id: 'O', roles: {} }];
    const query = new URLSearchParams(path.split('?')[1]);
    if (!query.has('cursor')) {
      if (looks > 0) log.push(...(growth[looks - 1] ?? []));
      looks += 1;
      if (looks > growth.length + 2) stop.abort();
    }
    return [200, pageOf(log, query)];
  });
  const { stdout } = await runCli(['audit', 'tail', '--follow', '--interval', '0', '--json', ...flags], {
    env: { LINTEL_TOKEN: twin.token },
    signal: stop.signal,
  });
  const lines = stdout.split('\n').filter(Boolean);
  return lines.map((line) => (JSON.parse(line) as Event).event_type);
}

describe('audit tail --follow', () => {
  it('goes on with new events until it is stopped, without repeating one', async () => {
    expect(await follow([event(1000), event(2000)], [[event(3000)], [], [event(4000)]])).toEqual([
      't1000',
      't2000',
      't3000',
      't4000',
    ]);
  });

  it('begins with an empty log', async () => {
    expect(await follow([], [[], [event(1), event(2)], [event(3)]])).toEqual(['t1', 't2', 't3']);
  });

  it('shows no old event after the newest, however few were asked for', async () => {
    const old = [event(1000), event(2000), event(3000)];
    expect(await follow([...old], [[], [event(4000)]], ['-n', '1'])).toEqual(['t3000', 't4000']);
    await twin?.close();
    const crowd = Array.from({ length: 450 }, (_, i) => event(i));
    expect(await follow(crowd, [[event(9000)]], ['-n', '2'])).toEqual(['t448', 't449', 't9000']);
  });

  it('shows an event whose transaction ended late, and nothing older because of it', async () => {
    const log = [event(1000), event(12_000), event(20_000)];
    const late = event(10_500, 'late');
    expect(await follow(log, [[late], [], [event(21_000)]], ['-n', '1'])).toEqual([
      't20000',
      'late',
      't21000',
    ]);
  });
});
