import type { HostFunctions } from '../host.ts';
import type { AnyNode, CallNode, FunctionDefinition, Script } from '../parser/ast.ts';
import { reachable } from '../parser/parser.ts';
import { childrenOf } from './children.ts';

/** Which functions may wait for the host, decided by name before anything is compiled. */
export interface Reach {
  readonly waits: (definition: FunctionDefinition) => boolean;
  readonly pointersWait: boolean;
}

interface Facts {
  /** Names a host function: as a call, as a method, as a pointer, or as a text that may become one. */
  readonly direct: boolean;
  readonly dynamic: boolean;
  readonly calls: ReadonlySet<string>;
}

export function analyse(script: Script, host: HostFunctions, hasForeignPointers: boolean): Reach {
  const definitions = [script.main, ...script.functions];
  const all = definitions.flatMap(withClosures);
  const facts = new Map(all.map((definition) => [definition, factsOf(definition, host)]));
  const byName = new Map<string, FunctionDefinition[]>();
  for (const definition of all) {
    if (definition.isClosure) continue;
    byName.set(definition.name, [...(byName.get(definition.name) ?? []), definition]);
  }
  const pointersWait =
    host.size > 0 && (hasForeignPointers || [...facts.values()].some(({ direct }) => direct));
  const waiting = new Set<FunctionDefinition>();
  for (let grew = true; grew; ) {
    grew = false;
    for (const [definition, { direct, dynamic, calls }] of facts) {
      if (waiting.has(definition)) continue;
      const reaches =
        direct ||
        (dynamic && pointersWait) ||
        [...calls].some((name) => byName.get(name)?.some((callee) => waiting.has(callee)) === true);
      if (!reaches) continue;
      waiting.add(definition);
      grew = true;
    }
  }
  return { waits: (definition) => waiting.has(definition), pointersWait };
}

function withClosures(definition: FunctionDefinition): FunctionDefinition[] {
  const found: FunctionDefinition[] = [definition];
  walk(definition.body, (node) => {
    if (node.type === 'closure') found.push(...withClosures(node.definition));
  });
  return found;
}

function walk(node: AnyNode, visit: (node: AnyNode) => void): void {
  visit(node);
  for (const child of childrenOf(node)) walk(child, visit);
}

function factsOf(definition: FunctionDefinition, host: HostFunctions): Facts {
  const calls = new Set<string>();
  let direct = false;
  let dynamic = false;
  const mention = (name: string) => {
    calls.add(name);
    if (host.has(name)) direct = true;
  };
  walk(definition.body, (node) => {
    if (node.type === 'variable' && node.variable === null) mention(node.name);
    // A callback may be given by name, as a text.
    if (node.type === 'const' && typeof node.value === 'string') mention(node.value);
    if (node.type === 'call') {
      mention(node.name);
      dynamic = true;
      if (node.name === 'Fn' && node.args[0]?.type !== 'const') direct ||= host.size > 0;
    }
    if (node.type === 'chain')
      for (const step of node.steps) {
        if (step.type !== 'method') continue;
        mention(step.name);
        dynamic = true;
      }
  });
  return { direct, dynamic, calls };
}

/** `f!(…)` reaches the caller's variables: they must be cells before anything is compiled. */
export function shareBangVariables(script: Script): void {
  for (const definition of [script.main, ...script.functions].flatMap(withClosures))
    walk(definition.body, (node) => {
      if (node.type === 'call' && node.bang !== null) shareFor(node, script.functions);
    });
}

function shareFor({ name, args, bang }: CallNode, functions: readonly FunctionDefinition[]): void {
  const callee = functions.find((fn) => fn.name === name && fn.parameters.length === args.length);
  if (callee === undefined || bang === null) return;
  for (const variable of reachable(callee, bang)) variable.captured = true;
}
