// Test 36 of design/reliability.md: what a preview says is what an execute does, and a preview does nothing.
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ulid } from '../../src/kernel/ulid.ts';
import { indexPolicies } from '../../src/policy/org-policies.ts';
import { randomOf } from '../support/decision-worlds.ts';
import { gather } from '../support/scenario-parallel.ts';
import type { TestApp } from '../support/test-app.ts';
import {
  isPreview,
  type PreviewBench,
  type PreviewMutant,
  type Reply,
  startPreviewBench,
} from './preview-asking.ts';
import { type ActionCase, createPreviewSite } from './preview-sites.ts';
import { scaled, seed } from './scale.ts';
import { createSharedRow } from './shared-row.ts';

const cases = scaled(1_000, 100_000);
/** Where what is looked for does not show. */
const mostCases = Math.max(cases, 20_000);
const sitesAtOnce = 4;
const requestsAtOnce = 32;

const kindsToSee = ['403 forbidden', 'allow', 'approve', 'confirm', 'deny'];

const codes: Record<string, string> = {
  confirmation_required: 'confirm',
  approval_required: 'approve',
  policy_denied: 'deny',
};

/** Decision and the policy that it is by, or how the request was refused before any decision. */
function previewed({ status, body }: Reply): string {
  if (status !== 200) return `${status} ${body.code}`;
  const reasons = body.reasons as { policy_id: string | null; policy_type: string; effect: string }[];
  const first = reasons.find(({ effect }) => effect === body.decision);
  const isTold = body.decision === 'approve' || body.decision === 'deny';
  return isTold ? `${body.decision} by ${first?.policy_type} ${first?.policy_id}` : String(body.decision);
}

function executed({ status, body }: Reply): string {
  if (status === 200) return 'allow';
  const decision = codes[String(body.code)];
  if (decision === undefined) return `${status} ${body.code}`;
  const policy = /\((\w+ \w+)[^(]*\)$/.exec(String(body.message))?.[1];
  return decision === 'confirm' ? decision : `${decision} by ${policy}`;
}

interface Compared {
  readonly found: string[];
  readonly seen: Map<string, number>;
  done: number;
  opened: number;
  proofs: number;
}

/** Worlds are drawn until the test has seen what it needs: a few of them may show none of it. */
type IsEnough = (result: Compared) => boolean;

async function compare(bench: PreviewBench, isEnough: IsEnough): Promise<Compared> {
  const { app } = bench;
  const random = randomOf(seed);
  const sites = await Promise.all(Array.from({ length: sitesAtOnce }, () => createPreviewSite(app)));
  const all = sites.flatMap((site) => site.cases);
  // Those by requests first: they tell what the edge makes of the callers.
  const asked = [...all.filter((each) => each.isByRequest), ...all.filter((each) => !each.isByRequest)];
  const result: Compared = { found: [], seen: new Map(), done: 0, opened: 0, proofs: 0 };
  while (result.done < mostCases && !isEnough(result)) {
    const worlds = await Promise.all(sites.map((site) => site.renew(random)));
    bench.moveTo(worlds[random(worlds.length)]?.nowMs ?? 0);
    bench.forgetCallers();
    const before = await effects(app);
    const previews = await gather(asked, requestsAtOnce, async (each) => [await bench.preview(each)]);
    const after = await effects(app);
    if (after !== before) result.found.push(`previews had effects: ${before}, then ${after}`);
    const rounds = asked.map((each, index) => ({ each, preview: previews[index] as Reply }));
    await gather(rounds, requestsAtOnce, async ({ each, preview }) => {
      await executeAndCompare(bench, each, preview, result);
      return [];
    });
    result.done += asked.length;
  }
  if (result.found.length === 0 && (await intentsOf(app)) !== result.opened)
    result.found.push(`${await intentsOf(app)} intents, ${result.opened} answers that it was done`);
  return result;
}

/** An execute without a proof, and where the preview gave one, also with it: that must go through. */
async function executeAndCompare(
  bench: PreviewBench,
  each: ActionCase,
  preview: Reply,
  result: Compared,
): Promise<void> {
  const said = previewed(preview);
  const done = [executed(await bench.execute(each))];
  const wanted = [said];
  const proof = preview.body.preview_token;
  if (typeof proof === 'string') {
    done.push(executed(await bench.execute(each, proof)));
    wanted.push('allow');
    result.proofs += 1;
  }
  result.opened += done.filter((outcome) => outcome === 'allow').length;
  const kind = said.split(' by ')[0] ?? said;
  result.seen.set(kind, (result.seen.get(kind) ?? 0) + 1);
  if (done.join() !== wanted.join())
    result.found.push(`${each.caller}, ${each.action}: ${said}, but ${done.join(', then ')}`);
}

/** What the device was told, by the size of its log, and what the service was going to tell it. */
async function effects(app: TestApp): Promise<string> {
  const log = join(app.dataDir, 'virtual-demo', 'commands.jsonl');
  return `${await intentsOf(app)} intents and ${existsSync(log) ? statSync(log).size : 0} bytes of commands`;
}

async function intentsOf(app: TestApp): Promise<number> {
  const [row] = await app.db.query<{ n: number }>('select count(*)::int as n from intents');
  return row?.n ?? 0;
}

describe(`preview and execute, seed ${seed}`, () => {
  const row = createSharedRow(36, 'preview = execute', seed);
  let counts = '';
  afterAll(() => row.write(counts));

  async function compareWith(mutant: PreviewMutant, isEnough: IsEnough): Promise<Compared> {
    const bench = await startPreviewBench(mutant);
    try {
      return await compare(bench, isEnough);
    } finally {
      await bench.app.close();
    }
  }

  it('say the same for generated policies and every kind of caller, and a preview sends nothing', async () => {
    const { found, seen, done, opened, proofs } = await compareWith({}, (result) => {
      const isSeen = result.done >= cases && kindsToSee.every((kind) => result.seen.has(kind));
      return isSeen || result.found.length >= 100;
    });
    const kinds = [...seen].map(([kind, count]) => `${count} ${kind}`).join(', ');
    counts = `${done} cases: ${kinds}; ${proofs} with the proof, ${opened} commands, all by executes`;
    expect(row.found(found)).toEqual([]);
    expect([...seen.keys()].sort()).toEqual(kindsToSee);
  }, 900_000);

  it.each<[string, PreviewMutant, RegExp]>([
    [
      'forgets the policies',
      {
        wrapEngine: (deps) => ({
          ...deps,
          policies: {
            snapshot: async (org) => {
              const real = await deps.policies.snapshot(org);
              return isPreview() ? { orgs: real.orgs.map(() => indexPolicies('UTC', [])) } : real;
            },
          },
        }),
      },
      /: allow, but deny by/,
    ],
    [
      'looks six hours ahead',
      {
        wrapEngine: (deps) => ({
          ...deps,
          clock: { ...deps.clock, millis: () => deps.clock.millis() + (isPreview() ? 6 * 3_600_000 : 0) },
        }),
      },
      /by quiet_hours/,
    ],
    [
      'tries it out',
      {
        wrapHandlers: (good) => ({
          ...good,
          preview_entity_action: async (input) => {
            const call = { ...input.call, idempotencyKey: ulid() };
            await good.execute_entity_action({ ...input, call }).catch(() => undefined);
            return good.preview_entity_action(input);
          },
        }),
      },
      /previews had effects/,
    ],
  ])(
    'would be told apart from a preview that %s',
    async (name, mutant, expected) => {
      const { found } = await compareWith(mutant, (result) =>
        result.found.some((text) => expected.test(text)),
      );
      expect(row.mutant(name, found).join('\n')).toMatch(expected);
    },
    300_000,
  );
});
