import type { SourceMap } from './source-graph.ts';

/**
 * Cycles of value imports, each as `a → b → a`. A depth-first walk reports one cycle per edge that leads back into the
 * walk's own path: not every cycle there is, but none exactly when the graph has none.
 */
export function checkCycles(sources: SourceMap): string[] {
  const cycles: string[] = [];
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (path: string): void => {
    const seenAt = trail.indexOf(path);
    if (seenAt !== -1) cycles.push([...trail.slice(seenAt), path].join(' → '));
    if (seenAt !== -1 || done.has(path)) return;
    trail.push(path);
    for (const next of valueImports(sources, path)) visit(next);
    trail.pop();
    done.add(path);
  };
  for (const path of sources.keys()) visit(path);
  return cycles;
}

function valueImports(sources: SourceMap, path: string): Set<string> {
  const paths = (sources.get(path)?.imports ?? [])
    .filter((imported) => imported.kind === 'value')
    .flatMap((imported) => (imported.path === null ? [] : [imported.path]));
  return new Set(paths.filter((imported) => sources.has(imported)));
}
