// Rules about what a shipped file may do by itself: where SQL stands, and which ambient state of the process it touches.
import type { Node } from 'oxc-parser';
import { isTestFile, type NodeAt, type SourceFile, type SourceMap, violation } from './source-graph.ts';

const SQL_MODULE = 'server/src/db/sql.ts';
const SQL_STATEMENT =
  /^\s*(select|insert|update|delete|with|begin|create|alter)\b.*\b(from|into|set|table)\b/is;

const mayHoldSql = (path: string): boolean => path.endsWith('.store.ts') || path.startsWith('server/src/db/');

/** Only the server can reach a database; elsewhere a sentence such as "Delete a key from the org" is documentation. */
export function checkSql(sources: SourceMap): string[] {
  return [...sources.values()]
    .filter(({ path }) => path.startsWith('server/src/') && !isTestFile(path) && !mayHoldSql(path))
    .flatMap((source) => [...sqlTagImports(source), ...sqlLiterals(source)]);
}

function sqlTagImports(source: SourceFile): string[] {
  return source.imports
    .filter(({ path, kind }) => path === SQL_MODULE && kind === 'value')
    .filter(({ names }) => names.includes('sql') || names.includes('*'))
    .map(({ line }) => `${source.path}:${line}: imports the sql tag outside *.store.ts and db/`);
}

function sqlLiterals(source: SourceFile): string[] {
  return source.nodes
    .filter(({ node, parent }) => !isConcatenation(parent) && SQL_STATEMENT.test(staticText(node)))
    .map(({ node }) => violation(source, node, 'holds SQL outside *.store.ts and db/'));
}

const isConcatenation = (node: Node | null): boolean =>
  node?.type === 'BinaryExpression' && node.operator === '+';

/** The text a literal, template or sum of them surely has; an interpolated part counts as one placeholder. */
function staticText(node: Node): string {
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : '';
  if (node.type === 'TemplateLiteral') return node.quasis.map(({ value }) => value.cooked ?? '').join('?');
  if (node.type === 'BinaryExpression' && node.operator === '+') {
    return staticText(node.left) + staticText(node.right);
  }
  return '';
}

interface AmbientRule {
  readonly forbidden: RegExp;
  readonly trees: RegExp;
  readonly allowed: readonly Allowance[];
  readonly message: string;
}

interface Allowance {
  readonly path: string;
  readonly reason: string;
}

const EVERYWHERE = /^/;
const SERVER = /^server\/src\//;

const AMBIENT_RULES: readonly AmbientRule[] = [
  {
    forbidden: /^(Date\.now|new Date|performance\.now|process\.hrtime)$/,
    trees: EVERYWHERE,
    allowed: [
      { path: 'server/src/kernel/clock.ts', reason: 'the clock everything else is given' },
      { path: 'cli/src/clock.ts', reason: 'the clock of the command' },
      { path: 'web/src/ui/clock.ts', reason: 'the clock of the browser, for the look of times only' },
      { path: 'script/src/clock.ts', reason: 'the clock of `timestamp()`, unless the host gives its own' },
    ],
    message: 'reads the time; take it from a clock (kernel/clock.ts)',
  },
  {
    forbidden: /^process\.env$/,
    trees: EVERYWHERE,
    allowed: [
      { path: 'server/src/config.ts', reason: 'turns the environment into the typed configuration' },
      { path: 'cli/src/environment.ts', reason: 'the same for the command' },
    ],
    message: 'reads the environment; only server/src/config.ts, cli/src/environment.ts and scripts do',
  },
  {
    forbidden: /^process\.exit$/,
    trees: EVERYWHERE,
    allowed: [
      { path: 'server/src/main.ts', reason: 'owns the life of the service' },
      { path: 'cli/src/main.ts', reason: 'owns the exit code of the command' },
      {
        path: 'server/src/features/scripting/script-worker.ts',
        reason: 'a process of its own, which ends with the service',
      },
    ],
    message: 'ends the process; only main.ts does',
  },
  {
    forbidden: /^console\.\w+$/,
    trees: SERVER,
    allowed: [{ path: 'server/src/main.ts', reason: 'prints the start banner before and beside the log' }],
    message: 'writes to the console; log through kernel/logger.ts',
  },
  {
    forbidden: /^Math\.random$/,
    trees: SERVER,
    allowed: [],
    message: 'is predictable randomness; use node:crypto, or list the file here with a reason',
  },
];

export function checkAmbient(sources: SourceMap): string[] {
  return [...sources.values()]
    .filter(({ path }) => !isTestFile(path))
    .flatMap((source) => {
      const rules = AMBIENT_RULES.filter((rule) => appliesTo(rule, source.path));
      return source.nodes.flatMap((at) =>
        ambientNames(at).flatMap((name) =>
          rules
            .filter((rule) => rule.forbidden.test(name))
            .map((rule) => violation(source, at.node, `${name} ${rule.message}`)),
        ),
      );
    });
}

const appliesTo = (rule: AmbientRule, path: string): boolean =>
  rule.trees.test(path) && !rule.allowed.some((allowance) => allowance.path === path);

/** What a node takes from the globals, as `Date.now`; empty for most nodes. */
function ambientNames({ node }: NodeAt): string[] {
  if (node.type === 'MemberExpression') {
    const name = dottedName(node);
    return name === null ? [] : [name];
  }
  if (node.type === 'NewExpression' || node.type === 'CallExpression') {
    return dottedName(node.callee) === 'Date' && isWithoutTime(node) ? ['new Date'] : [];
  }
  if (node.type === 'VariableDeclarator' && node.init)
    return destructuredNames(node.id, dottedName(node.init));
  return node.type === 'ImportDeclaration' ? importedFromProcess(node) : [];
}

/** `Date(…)` without `new` is the current time as text, whatever it is given. */
const isWithoutTime = (node: Node): boolean =>
  node.type === 'CallExpression' || (node.type === 'NewExpression' && node.arguments.length === 0);

function destructuredNames(pattern: Node, owner: string | null): string[] {
  if (pattern.type !== 'ObjectPattern' || owner === null) return [];
  return pattern.properties.flatMap((property) =>
    property.type === 'Property' && property.key.type === 'Identifier'
      ? [`${owner}.${property.key.name}`]
      : [],
  );
}

function importedFromProcess(node: Extract<Node, { type: 'ImportDeclaration' }>): string[] {
  if (!/^(node:)?process$/.test(node.source.value)) return [];
  return node.specifiers.flatMap((specifier) =>
    specifier.type === 'ImportSpecifier' && specifier.imported.type === 'Identifier'
      ? [`process.${specifier.imported.name}`]
      : [],
  );
}

/** `a.b` or `a['b']` as `a.b`, without a leading `globalThis`; null where the owner is no plain name. */
function dottedName(node: Node): string | null {
  if (node.type === 'Identifier') return node.name;
  if (node.type !== 'MemberExpression') return null;
  const owner = dottedName(node.object);
  const property = propertyName(node);
  if (owner === null || property === null) return null;
  return owner === 'globalThis' ? property : `${owner}.${property}`;
}

function propertyName({ property, computed }: Extract<Node, { type: 'MemberExpression' }>): string | null {
  if (!computed && property.type === 'Identifier') return property.name;
  return property.type === 'Literal' && typeof property.value === 'string' ? property.value : null;
}
