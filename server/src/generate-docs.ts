// Writes docs/generated from the contract and the manifests, and policy/lintel.cedar.json from lintel.cedar. With --check it writes nothing and fails when a file is not current;
// --dir names another folder.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import manifest from '../../package.json' with { type: 'json' };
import { composeDocs } from './compose-docs.ts';
import { parsedBasePolicies } from './policy/cedar-engine.ts';

const { values } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    dir: { type: 'string' },
  },
});

const dir = values.dir ?? join(import.meta.dirname, '../../docs/generated');
const files = composeDocs(manifest.version);
mkdirSync(dir, { recursive: true });

const present = readdirSync(dir);
const superfluous = present.filter((name) => !files.has(name));
const outdated = [...files].filter(([name, content]) => read(name) !== content);

if (values.check) check();
else write();

function read(name: string): string | null {
  return present.includes(name) ? readFileSync(join(dir, name), 'utf8') : null;
}

function check(): void {
  const hints = [
    ...outdated.map(([name, content]) => `${name}: ${firstDifference(read(name), content)}`),
    ...superfluous.map((name) => `${name}: nothing generates it, remove it`),
  ];
  if (hints.length === 0) return;
  process.stderr.write(`docs/generated is stale; run \`npm run generate\`.\n${hints.join('\n')}\n`);
  process.exitCode = 1;
}

function firstDifference(actual: string | null, expected: string): string {
  if (actual === null) return 'missing';
  const [is, should] = [actual.split('\n'), expected.split('\n')];
  const at = should.findIndex((line, index) => line !== is[index]);
  const line = at === -1 ? should.length : at;
  return `line ${line + 1} is ${JSON.stringify(is[line] ?? '')}, should be ${JSON.stringify(should[line] ?? '')}`;
}

function write(): void {
  for (const [name, content] of outdated) writeFileSync(join(dir, name), content);
  if (values.dir === undefined) writePolicies();
  process.stdout.write(`docs/generated: ${outdated.length} of ${files.size} files written\n`);
}

/** The service's own policies, parsed, so that a start needs no engine for it. */
function writePolicies(): void {
  const text = `${JSON.stringify(parsedBasePolicies(), null, 2)}\n`;
  writeFileSync(join(import.meta.dirname, 'policy', 'lintel.cedar.json'), text);
}
