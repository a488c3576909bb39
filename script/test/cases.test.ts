import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { deliberate } from './deliberate.ts';
import { type Case, type Expectation, outcomeOf } from './support/run-case.ts';

const cases = readFileSync(join(import.meta.dirname, 'script-cases.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Case);

let answered = 0;

function check(actual: Expectation, wanted: Expectation): void {
  if (wanted.error !== undefined) {
    expect(actual.error).toBeDefined();
    expect(actual.error?.kind).toBe(wanted.error.kind);
    expect(actual.error?.full).toContain(wanted.error.contains);
    if (wanted.error.full !== undefined) expect(actual.error?.full).toBe(wanted.error.full);
    if (wanted.error.line !== undefined) {
      expect(actual.error).toMatchObject({ line: wanted.error.line, position: wanted.error.position });
    }
    return;
  }
  expect(actual.error).toBeUndefined();
  expect(actual.type).toBe(wanted.type);
  expect(actual.output ?? []).toEqual(wanted.output ?? []);
  if (wanted.text !== undefined) expect(actual.text).toBe(wanted.text);
  else expect(actual.value).toEqual(wanted.value);
}

describe('the corpus of the real engine', () => {
  it.each(cases)('$id', async (each) => {
    check(await outcomeOf(each), deliberate.get(each.id) ?? each.expect);
    answered += 1;
  });

  it('answers differently only where it says so', async () => {
    expect(cases).toHaveLength(1245);
    for (const id of deliberate.keys()) {
      const each = cases.find((one) => one.id === id);
      expect(each, id).toBeDefined();
      if (each === undefined) continue;
      const outcome = await outcomeOf(each);
      expect(() => check(outcome, each.expect), `${id} no longer differs`).toThrow();
    }
  });

  afterAll(() => {
    const text = `${answered} of ${cases.length} cases answered as expected, ${deliberate.size} of them differently on purpose`;
    console.info(text);
    if (process.env.SCRIPT_CASES_FILE !== undefined) writeFileSync(process.env.SCRIPT_CASES_FILE, text);
  });
});
