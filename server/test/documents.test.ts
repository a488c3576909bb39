// What is written for people, held against what there is.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const decisions = readdirSync(join(root, 'docs/decisions')).map((name) => `docs/decisions/${name}`);
const documents = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', ...decisions];

it.each(documents)('%s links to what exists', (path) => {
  const prose = read(path).replace(/```.*?```/gs, '');
  const targets = [...prose.matchAll(/\]\(([^)#]+)\)/g)].map(([, target = '']) => target);
  const local = targets.filter((target) => !/^https?:/.test(target));
  expect(local.filter((target) => !existsSync(join(root, dirname(path), target)))).toEqual([]);
});

it('README.md lists the settings that there are', () => {
  const settings = /\n## Settings\n(.*?)\n## /s.exec(read('README.md'))?.[1] ?? '';
  const rows = settings.split('\n').filter((line) => line.startsWith('| `'));
  const listed = rows
    .flatMap((row) => row.match(/`[A-Z][A-Z0-9_]{2,}`/g) ?? [])
    .map((name) => name.slice(1, -1));
  const files = readdirSync(join(root, 'server/src')).filter((name) => /^config[a-z-]*\.ts$/.test(name));
  const source = files.map((name) => read(`server/src/${name}`)).join('\n');
  const used = [...source.matchAll(/\benv\.([A-Z0-9_]+)|\benv, '([A-Z0-9_]+)'/g)].map(([, a, b]) => a ?? b);
  expect([...new Set(listed)].sort()).toEqual([...new Set(used)].sort());
});

describe('decisions', () => {
  it('are numbered without gaps', () => {
    const numbers = decisions.map((path) => Number(/(\d{4})-/.exec(path)?.[1])).sort((a, b) => a - b);
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  });

  it.each(decisions)('%s has a background, a decision and consequences', (path) => {
    const text = read(path);
    const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual([expect.stringMatching(/^\d{4}: /), 'Background', 'Decision', 'Consequences']);
    expect(path).toContain(`/${headings[0]?.slice(0, 4)}-`);
  });
});
