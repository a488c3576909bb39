// Rules about who imports whom: package walls, layers, provider walls. Test files are outside the layers: they may
// wire anything together, and nothing that ships may import them.

import { isTestFile, type SourceFile, type SourceMap } from './source-graph.ts';
import type { SourceImport } from './source-imports.ts';
import { COMPUTED_SPECIFIER } from './source-imports.ts';

/** Files directly in server/src: the start of the program, which may know everything. */
const ENTRY_RANK = 7;

const FOLDER_RANKS: Readonly<Record<string, number>> = {
  http: 6,
  features: 5,
  engine: 4,
  audit: 3,
  auth: 3,
  identity: 3,
  oauth: 3,
  policy: 3,
  quota: 3,
  secrets: 3,
  media: 3,
  jobs: 3,
  egress: 3,
  cluster: 3,
  db: 2,
  providers: 2,
  kernel: 1,
};

interface Wall {
  readonly workspaces: readonly string[];
  /** Packages from outside the repository; null where the workspace may depend on any. */
  readonly packages: readonly string[] | null;
}

const WALLS: Readonly<Record<string, Wall>> = {
  contract: { workspaces: ['contract'], packages: ['typebox'] },
  script: { workspaces: ['script'], packages: [] },
  server: { workspaces: ['server', 'contract', 'script'], packages: null },
  cli: { workspaces: ['cli', 'contract', 'script'], packages: null },
  web: { workspaces: ['web', 'contract'], packages: null },
};

const PROVIDERS = 'server/src/providers/';
const REGISTRY = `${PROVIDERS}registry.ts`;
/** The object graph, and the page about the kinds of devices, which connects to none. */
const REGISTRY_READERS = new Set(['server/src/compose.ts', 'server/src/compose-docs.ts']);
const TRANSPORT = `${PROVIDERS}transport/`;

const workspaceOf = (path: string): string => path.split('/')[0] ?? '';

function shippedFiles(sources: SourceMap): SourceFile[] {
  return [...sources.values()].filter((source) => !isTestFile(source.path));
}

function eachImport(
  sources: SourceMap,
  check: (source: SourceFile, imported: SourceImport) => string | null,
): string[] {
  return shippedFiles(sources).flatMap((source) =>
    source.imports.flatMap((imported) => {
      const message = check(source, imported);
      return message === null ? [] : [`${source.path}:${imported.line}: ${message}`];
    }),
  );
}

/** Types count here as well: a package that names another's types cannot be published or replaced without it. */
export function checkPackageWalls(sources: SourceMap): string[] {
  return eachImport(sources, (source, imported) => {
    const home = workspaceOf(source.path);
    const wall = WALLS[home];
    if (!wall) return `the workspace ${home} has no wall: add it to WALLS in architecture-layers.ts`;
    if (imported.specifier === COMPUTED_SPECIFIER) return 'a computed import hides what it imports';
    return imported.path === null ? checkPackage(home, wall, imported) : checkFile(home, wall, imported);
  });
}

function checkPackage(home: string, wall: Wall, { specifier }: SourceImport): string | null {
  const isAllowed = wall.packages?.some((name) => specifier === name || specifier.startsWith(`${name}/`));
  return (isAllowed ?? true) ? null : `${home} may not import the package ${specifier}`;
}

function checkFile(home: string, wall: Wall, { path, specifier }: SourceImport): string | null {
  const target = path ?? '';
  const isRelative = specifier.startsWith('.');
  // Data such as package.json or a stylesheet is no module of a layer.
  if (isRelative && !/\.[cm]?[jt]sx?$/.test(target)) return null;
  if (isTestFile(target)) return `imports the test file ${target}`;
  const workspace = workspaceOf(target);
  if (isRelative && !target.startsWith(`${home}/src/`))
    return `reaches out of ${home}/src by path: ${target}`;
  return wall.workspaces.includes(workspace) ? null : `${home} may not import the workspace ${workspace}`;
}

interface Place {
  readonly rank: number;
  /** What may import inside itself freely, and nothing else of the same rank. */
  readonly unit: string;
}

function placeOf(path: string): Place | null {
  if (/^(contract|script)\/src\//.test(path)) return { rank: 0, unit: workspaceOf(path) };
  const segments = path.startsWith('server/src/') ? path.split('/').slice(2) : [];
  const [folder, child] = segments;
  if (folder === undefined) return null;
  if (segments.length === 1) return { rank: ENTRY_RANK, unit: 'server/src' };
  const rank = FOLDER_RANKS[folder];
  if (rank === undefined) return null;
  const unit = folder === 'features' ? `features/${child}` : folder;
  return { rank, unit };
}

export function checkLayers(sources: SourceMap): string[] {
  const inServer = new Map([...sources].filter(([path]) => path.startsWith('server/src/')));
  const misplaced = shippedFiles(inServer).filter((source) => placeOf(source.path) === null);
  const folders = new Set(misplaced.map((source) => source.path.split('/').slice(0, 3).join('/')));
  const unranked = [...folders].map(
    (folder) => `${folder} has no rank: add it to FOLDER_RANKS in architecture-layers.ts`,
  );
  return [...unranked, ...eachImport(inServer, checkLayer)];
}

function checkLayer(source: SourceFile, imported: SourceImport): string | null {
  if (imported.kind === 'type' || imported.path === null) return null;
  const from = placeOf(source.path);
  const to = placeOf(imported.path);
  if (!from || !to) return null;
  if (to.rank > from.rank) {
    return `${from.unit} (rank ${from.rank}) imports a value upward from ${imported.path} (rank ${to.rank})`;
  }
  const isSideways = to.rank === from.rank && to.unit !== from.unit;
  return isSideways
    ? `${from.unit} imports a value sideways from ${imported.path} (both rank ${to.rank})`
    : null;
}

/** Hardware is reached through the engine only, so even the registry's type stays out of everybody else's hands. */
export function checkProviderWalls(sources: SourceMap): string[] {
  return eachImport(sources, (source, { path }) => {
    if (path === null || !path.startsWith(PROVIDERS)) return null;
    const isEngine = source.path.startsWith('server/src/engine/');
    if (path === REGISTRY && !isEngine && !REGISTRY_READERS.has(source.path)) {
      return 'only engine/ and compose.ts import the provider registry';
    }
    const home = providerFolder(source.path);
    const other = providerFolder(path);
    if (home === null || other === null || home === other || path.startsWith(TRANSPORT)) return null;
    return `the provider folder ${home} imports from the provider folder ${other}`;
  });
}

function providerFolder(path: string): string | null {
  const inside = path.startsWith(PROVIDERS) ? path.slice(PROVIDERS.length).split('/') : [];
  return inside.length > 1 ? (inside[0] ?? null) : null;
}
