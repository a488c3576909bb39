// What a stranger installs: one tarball, nothing else.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import manifest from '../package.json' with { type: 'json' };

const root = join(import.meta.dirname, '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'lintel-pack-'));
// The command's own first line asks for `node`; here that is the one that runs the tests.
const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` };
const npm = (args: string[], cwd: string) =>
  execFileSync('npm', [...args, '--loglevel=error'], { cwd, env, encoding: 'utf8', stdio: 'pipe' });
const lintel = (...args: string[]) =>
  execFileSync(join(folder, 'node_modules', '.bin', 'lintel'), args, {
    cwd: folder,
    env,
    encoding: 'utf8',
    stdio: 'pipe',
  });

describe('the packed command', () => {
  beforeAll(() => {
    npm(['pack', '-w', 'cli', '--pack-destination', folder], root);
    const [tarball = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
    writeFileSync(join(folder, 'package.json'), '{"name": "elsewhere", "private": true}');
    npm(['install', '--offline', '--no-audit', '--no-fund', join(folder, tarball)], folder);
  }, 180_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('runs after an installation without a network, and needs no other package', () => {
    expect(lintel('--version')).toBe(`${manifest.version}\n`);
    expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
      '@lintel',
    ]);
    expect(readdirSync(join(folder, 'node_modules', '@lintel'))).toEqual(['cli']);
  });

  it('refuses a Node that is too old for it, in one line', () => {
    const disguise = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '22.17.9' } })`;
    const flags = ['--import', `data:text/javascript,${encodeURIComponent(disguise)}`];
    const main = join(folder, 'node_modules', '@lintel', 'cli', 'dist', 'lintel.js');
    const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, main, '--version'], {
      encoding: 'utf8',
    });
    expect({ status, stdout, stderr }).toEqual({
      status: 1,
      stdout: '',
      stderr: 'error: lintel needs Node 22.18 or newer; this is 22.17.9\n',
    });
  });

  it('has the language and the operations in it', () => {
    writeFileSync(join(folder, 'a.openapp'), 'include "missing"');
    expect(() => lintel('script', 'run', 'a.openapp', '--token', 'x', '--url', 'http://127.0.0.1:9')).toThrow(
      /missing\.openapp: no such file/,
    );
    expect(lintel('completion', 'bash')).toContain('complete -o default -F _lintel lintel');
  });
});
