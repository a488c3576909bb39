import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { providerDefinitions } from '../../src/providers/registry.ts';
import { benches } from './benches.ts';
import { describeProviders } from './provider-suite.ts';

const folders = join(import.meta.dirname, '../../src/providers');

/** A provider may bring its bench along, in the test beside it. */
function triesItself(type: string): boolean {
  const folder = join(folders, type.replaceAll('_', '-'));
  const tests = readdirSync(folder).filter((name) => name.endsWith('.test.ts'));
  return tests.some((name) => readFileSync(join(folder, name), 'utf8').includes('describeProviders('));
}

it('every provider of the registry has its bench, here or in its own test', () => {
  const tried = new Set(benches.map(({ provider }) => provider));
  const untried = [...providerDefinitions.keys()].filter((type) => !tried.has(type));
  expect(untried.filter((type) => !triesItself(type))).toEqual([]);
});

describeProviders(benches);
