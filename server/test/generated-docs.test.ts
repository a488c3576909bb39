import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { composeDocs } from '../src/compose-docs.ts';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'docs/generated');
const hint = 'docs/generated is stale: run `npm run generate`';

function generate(...options: string[]) {
  const script = join(root, 'server/src/generate-docs.ts');
  return spawnSync(process.execPath, [script, ...options], { encoding: 'utf8' });
}

describe('docs/generated', () => {
  test.each([...composeDocs(manifest.version)])('%s says what the contract says', (name, content) => {
    expect(readFileSync(join(folder, name), 'utf8') === content, `${hint} (${name})`).toBe(true);
  });

  test('holds nothing else', () => {
    expect(readdirSync(folder).toSorted(), hint).toEqual(
      [...composeDocs(manifest.version).keys()].toSorted(),
    );
  });
});

describe('the generator', () => {
  test('writes what --check then accepts, and --check names what was changed, lost or added', () => {
    const dir = mkdtempSync(join(tmpdir(), 'lintel-docs-'));
    onTestFinished(() => rmSync(dir, { recursive: true }));

    expect(generate('--dir', dir)).toMatchObject({ status: 0 });
    expect(generate('--check', '--dir', dir)).toMatchObject({ status: 0, stderr: '' });

    appendFileSync(join(dir, 'errors.md'), 'more\n');
    rmSync(join(dir, 'roles.md'));
    writeFileSync(join(dir, 'stray.md'), '');
    const { status, stderr } = generate('--check', '--dir', dir);
    expect(status).toBe(1);
    expect(stderr).toContain('npm run generate');
    expect(stderr).toMatch(/^errors\.md: line \d+ is "more", should be ""$/m);
    expect(stderr).toMatch(/^roles\.md: missing$/m);
    expect(stderr).toMatch(/^stray\.md: nothing generates it/m);
    expect(stderr).not.toContain('events.md');
  });
});
