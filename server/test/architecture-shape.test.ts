// The shape of files and of the repository, by the rules of ARCHITECTURE.md; each rule beside a mutant that breaks it.
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  checkLockFile,
  checkManifests,
  checkMigrations,
  type LockFile,
  type PackageManifest,
} from './support/architecture-repository.ts';
import {
  checkExports,
  checkMedians,
  checkNames,
  checkSilencers,
  checkSizes,
  mediansOf,
} from './support/architecture-shape.ts';
import {
  checkMutant,
  readAllSources,
  readShippedSources,
  repositoryRoot,
} from './support/architecture-trees.ts';
import { parseSources } from './support/source-graph.ts';

const shipped = readShippedSources();
const everything = readAllSources();

/** A file of `count` lines, of which the function `f` takes all. */
const functionOfLines = (count: number, head = 'export function f() {', tail = '}'): string =>
  [head, ...Array.from({ length: count - 2 }, () => '  //'), tail].join('\n');

describe('sizes', () => {
  it('stay under the ceilings in the tree', () => {
    const medians = mediansOf(shipped);
    console.info(
      `medians: file ${medians.fileLines} lines (${medians.files} files), function ${medians.functionLines} lines (${medians.functions} functions)`,
    );
    expect(checkSizes(everything)).toEqual([]);
    expect(checkMedians(medians)).toEqual([]);
  });

  it('count the lines of a file, for a test up to 500', () => {
    const lines = (count: number) => '//\n'.repeat(count);
    expect(checkMutant(checkSizes, 'web/src/a.ts', lines(400))).toEqual([]);
    expect(checkMutant(checkSizes, 'web/src/a.ts', lines(401))).toEqual([
      'web/src/a.ts: 401 lines, more than 400',
    ]);
    expect(checkMutant(checkSizes, 'web/src/a.test.ts', lines(500))).toEqual([]);
    expect(checkMutant(checkSizes, 'web/src/a.test.ts', lines(501))).toHaveLength(1);
  });

  it.each([
    ['export function f(', ') {}'],
    ['export const f = () => {', '};'],
    ['export const o = { f() {', '} };'],
    ['export class E extends Error { f() {', '} }'],
  ])('count the lines of a function with its signature: %s…%s', (head, tail) => {
    expect(checkMutant(checkSizes, 'web/src/a.ts', functionOfLines(60, head, tail))).toEqual([]);
    expect(checkMutant(checkSizes, 'web/src/a.ts', functionOfLines(61, head, tail))).toEqual([
      'web/src/a.ts:1: a function of 61 lines, more than 60',
    ]);
  });

  it('do not bind test files and the blocks of a shared suite', () => {
    expect(checkMutant(checkSizes, 'web/src/a.test.ts', functionOfLines(61))).toEqual([]);
    expect(
      checkMutant(checkSizes, 'web/src/a.ts', functionOfLines(61, "describe('x', () => {", '});')),
    ).toEqual([]);
    expect(
      checkMutant(checkSizes, 'web/src/a.ts', functionOfLines(61, "it.each([1])('x', () => {", '});')),
    ).toEqual([]);
  });

  it('have medians over files and functions, and a ceiling for the files', () => {
    const medians = mediansOf(
      parseSources({
        'web/src/a.ts': functionOfLines(151),
        'web/src/b.ts': functionOfLines(152),
        'web/src/b.test.ts': functionOfLines(3),
      }),
    );
    expect(medians).toEqual({ files: 2, fileLines: 151.5, functions: 2, functionLines: 151.5 });
    expect(checkMedians(medians)).toEqual(['the median file has 151.5 lines, more than 150']);
    expect(checkMedians({ ...medians, fileLines: 150 })).toEqual([]);
  });
});

describe('exports and names', () => {
  it('follow the style in the tree', () => {
    expect(checkExports(everything)).toEqual([]);
    expect(checkNames(everything)).toEqual([]);
    expect(checkSilencers(everything)).toEqual([]);
  });

  it.each([
    'export default function f() {}',
    'const a = 1; export { a as default };',
    "export { default } from './b.ts'; export const a = 1;",
  ])('allow no default export: %s', (text) => {
    expect(checkMutant(checkExports, 'web/src/a.ts', text)).toEqual([
      'web/src/a.ts:1: a default export; export by name',
    ]);
    expect(checkMutant(checkExports, 'web/vite.config.ts', text)).toEqual([]);
  });

  it.each([
    "export * from './b.ts';",
    "export { b } from './b.ts'; export type { C } from './c.ts';",
    "import { b } from './b.ts'; export { b };",
  ])('allow no barrel: %s', (text) => {
    expect(checkMutant(checkExports, 'web/src/a.ts', text)).toEqual([
      'web/src/a.ts: a barrel: it holds only re-exports',
    ]);
    expect(checkMutant(checkExports, 'web/src/a.ts', `${text} export const own = 1;`)).toEqual([]);
    expect(checkMutant(checkExports, 'web/src/a.ts', "import './b.ts';")).toEqual([]);
  });

  it.each([
    'server/src/kernel/utils.ts',
    'server/src/helpers/a.ts',
    'web/src/string-utils.ts',
    'server/src/common.ts',
  ])('allow no name without meaning: %s', (path) => {
    expect(checkMutant(checkNames, path, '')).toEqual([
      `${path}: a name that says nothing about the content`,
    ]);
    expect(checkMutant(checkNames, 'contract/src/common.ts', '')).toEqual([]);
  });

  it('allow `any` only beside a comment', () => {
    const unexplained = ['web/src/a.ts:2: `any` without a comment that says why'];
    expect(checkMutant(checkSilencers, 'web/src/a.ts', '\nlet a: any;')).toEqual(unexplained);
    expect(checkMutant(checkSilencers, 'web/src/a.ts', '\nf(a as any);\n// too late')).toEqual(unexplained);
    expect(checkMutant(checkSilencers, 'web/src/a.ts', 'let a: any; // the vendor types lie')).toEqual([]);
    expect(checkMutant(checkSilencers, 'web/src/a.ts', '// the vendor types lie\nlet a: any;')).toEqual([]);
  });

  it.each(['// @ts-ignore', '/* @ts-ignore */', '// @ts-nocheck'])('allow no %s', (comment) => {
    expect(checkMutant(checkSilencers, 'web/src/a.ts', comment)).toEqual([
      'web/src/a.ts:1: silences the type checker; use @ts-expect-error with a reason',
    ]);
    expect(checkMutant(checkSilencers, 'web/src/a.ts', "const text = '// @ts-ignore';")).toEqual([]);
  });
});

describe('the repository', () => {
  const migrations = join(repositoryRoot, 'server/migrations');
  const readJson = <T>(path: string): T => JSON.parse(readFileSync(join(repositoryRoot, path), 'utf8'));

  it('numbers its migrations without gaps', () => {
    expect(checkMigrations(readdirSync(migrations))).toEqual([]);
  });

  it.each([
    [['0001_a.sql', '0003_c.sql', '0004_d.sql'], '0003_c.sql: expected number 0002'],
    [['0001_a.sql', '0001_b.sql'], '0001_b.sql: expected number 0002'],
    [['0000_a.sql'], '0000_a.sql: expected number 0001'],
    [['0001_a.sql', '0002-b.sql'], '0002-b.sql: not named NNNN_what_it_does.sql'],
    [['0001_Orgs.sql'], '0001_Orgs.sql: not named NNNN_what_it_does.sql'],
  ])('finds the fault in the migrations %s', (names, message) => {
    expect(checkMigrations(names)).toEqual([message]);
  });

  it('pins every dependency to an exact version', () => {
    const paths = globSync(['package.json', '*/package.json'], { cwd: repositoryRoot });
    expect(paths).toContain('server/package.json');
    const manifests = Object.fromEntries(paths.map((path) => [path, readJson<PackageManifest>(path)]));
    expect(checkManifests(manifests)).toEqual([]);
  });

  it.each(['^1.2.3', '~1.2.3', '*', '1.x', '>=1.2.3', 'latest', '1.2.3 || 2.0.0'])(
    'finds the range %s',
    (version) => {
      expect(checkManifests({ 'a/package.json': { devDependencies: { x: version } } })).toEqual([
        `a/package.json: x "${version}" in devDependencies is not an exact version`,
      ]);
    },
  );

  it('looks into every section of a manifest, and not at engines or overrides', () => {
    const range = { x: '^1.0.0' };
    const sections = { dependencies: range, devDependencies: range, optionalDependencies: range };
    expect(checkManifests({ a: { ...sections, peerDependencies: range } })).toHaveLength(4);
    const free = { engines: { node: '>=20' }, overrides: range, dependencies: { x: '18.4.0-beta.17' } };
    expect(checkManifests({ a: free })).toEqual([]);
  });

  it('locks no registry address', () => {
    expect(checkLockFile(readJson<LockFile>('package-lock.json'))).toEqual([]);
  });

  it.each([
    { resolved: 'https://registry.example/x.tgz' },
    { resolved: 'https://registry.example/x.tgz', link: true },
    { resolved: 'server' },
  ])('finds an address in the lock file that is no link to a workspace: %j', (fetched) => {
    const workspace = { server: {}, 'node_modules/@lintel/server': { resolved: 'server', link: true } };
    expect(checkLockFile({ packages: workspace })).toEqual([]);
    expect(checkLockFile({ packages: { ...workspace, 'node_modules/x': fetched } })).toEqual([
      `node_modules/x: resolved to ${fetched.resolved}`,
    ]);
  });
});
