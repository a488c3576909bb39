// What the architecture tests look at: the trees of this repository, and mutants of one file.
import { join } from 'node:path';
import {
  parseSources,
  readSources,
  SHIPPED_TREES,
  type SourceMap,
  SUPPORTING_TREES,
} from './source-graph.ts';

export const repositoryRoot = join(import.meta.dirname, '..', '..', '..');

export const readShippedSources = (): SourceMap => readSources(repositoryRoot, SHIPPED_TREES);

export const readAllSources = (): SourceMap =>
  readSources(repositoryRoot, [...SHIPPED_TREES, ...SUPPORTING_TREES]);

/** What a rule says about a tree of this one file. */
export const checkMutant = (rule: (sources: SourceMap) => string[], path: string, text: string): string[] =>
  rule(parseSources({ [path]: text }));
