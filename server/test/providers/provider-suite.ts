import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ProviderDefinition } from '../../src/providers/provider.ts';
import { providerDefinitions } from '../../src/providers/registry.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import type { FarFaults, ProviderBench } from './bench.ts';
import { type StagedBench, stageBench } from './staged-bench.ts';
import { type Column, createProviderTable } from './table.ts';

/** Steps of one provider follow each other; the providers go side by side. */
const inTurn = { concurrent: false, timeout: 120_000 };

/**
 * What every provider shows through the HTTP API, all of them in one running service at once: what happens to one must
 * not matter to the others. `also` is known to this service without being registered.
 */
export function describeProviders(
  benches: readonly ProviderBench[],
  also: readonly ProviderDefinition[] = [],
): void {
  const table = createProviderTable(benches);
  let node: TestApp;
  let origin: string;

  beforeAll(async () => {
    const more = also.map((definition) => [definition.manifest.type, definition] as const);
    node = await startTestApp({
      env: { DATABASE_CONNECTIONS: '20' },
      providerDefinitions: new Map([...providerDefinitions, ...more]),
    });
    await node.app.http.listen({ host: '127.0.0.1', port: 0 });
    origin = `http://127.0.0.1:${(node.app.http.server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    await node.close();
    table.print();
  });

  describe.concurrent.each(benches)('$provider over $transport', (bench) => {
    let staged: StagedBench;
    const note: Note = (column, fact) => table.note(bench, column, fact);
    beforeAll(async () => {
      staged = await stageBench(node, origin, bench);
    });
    afterAll(() => staged?.far.close());
    describeCommands(() => staged, note);
    describeFaults(() => staged, note);
  });
}

type Note = (column: Column, fact: string) => void;
const faultsOf = (staged: StagedBench): FarFaults | null => staged.far.faults;

function describeCommands(staged: () => StagedBench, note: Note): void {
  it('is created through the API and becomes healthy', inTurn, async () => {
    await staged().create();
  });

  it('opens, and the far side shows it', inTurn, async () => {
    if (faultsOf(staged()) === null) return note('open', '— nothing to open');
    const answer = await staged().openOnceReachable();
    expect(answer).toMatchObject({ status: 200, body: { outcome: 'succeeded' } });
    await staged().expectOpens(1);
    note('open', `✓ ${staged().far.opens()[0]}`);
  });

  it('answers 501 to what it can not do', inTurn, async () => {
    const before = staged().far.opens().length;
    expect(await staged().act(staged().far.cannot)).toMatchObject({
      status: 501,
      body: { code: 'action_not_implemented' },
    });
    expect(staged().far.opens()).toHaveLength(before);
    note('501', `✓ ${staged().far.cannot}`);
  });

  it('says when the far side refused', inTurn, async () => {
    const refuse = faultsOf(staged())?.refuse;
    if (refuse === undefined) return note('refused', '—');
    await refuse(true);
    const answer = await staged().openOnceReachable();
    expect(answer).toMatchObject({ status: 409, body: { code: 'device_refused' } });
    const before = staged().far.opens().length;
    await refuse(false);
    await staged().expectOpens(before);
    note('refused', '✓ 409');
  });
}

function describeFaults(staged: () => StagedBench, note: Note): void {
  it(
    'says that the outcome is unknown when the answer was lost, and sends nothing twice',
    inTurn,
    async () => {
      const lossy = faultsOf(staged());
      if (lossy === null) return note('lost reply', '—');
      const before = staged().far.opens().length;
      const key = randomUUID();
      await lossy.loseReply(true);
      const unknown = { status: 409, body: { code: 'outcome_unknown' } };
      expect(await staged().act('open', key)).toMatchObject(unknown);
      expect(await staged().act('open', key)).toMatchObject(unknown);
      await lossy.loseReply(false);
      await staged().expectOpens(before + 1);
      note('lost reply', '✓ 409, 1 command');
    },
  );

  it('is unreachable while the far side is down', inTurn, async () => {
    const before = staged().far.opens().length;
    await staged().far.stop();
    if (faultsOf(staged()) === null) {
      await staged().untilUnhealthy();
      return note('down', '✓ health error');
    }
    expect(await staged().act('open')).toMatchObject({ status: 502, body: { code: 'device_unreachable' } });
    expect(staged().far.opens()).toHaveLength(before);
    note('down', '✓ 502, 0 commands');
  });

  it('works again when the far side is back, and was told nothing by itself', inTurn, async () => {
    const before = staged().far.opens().length;
    await staged().far.restart();
    await staged().expectOpens(before);
    if (faultsOf(staged()) === null) await staged().untilHealthy();
    else {
      expect(await staged().openOnceReachable()).toMatchObject({ status: 200 });
      await staged().expectOpens(before + 1);
    }
    note('restart', '✓ works again');
  });
}
