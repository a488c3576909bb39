import type { Position } from '../position.ts';
import type { Capture, NameUse, Variable } from './ast.ts';

/** What the parser knows of the function it is in. */
export interface FunctionScope {
  readonly outer: FunctionScope | null;
  readonly visible: Variable[];
  readonly captures: Capture[];
  readonly unresolved: NameUse[];
  slots: number;
  usesGlobals: boolean;
  /** The innermost catch block, for `throw;`. */
  caught: Variable | null;
  loops: number;
}

/** Slot 0 of every frame is `this`, slot 1 the frame of the caller. */
export const createFunctionScope = (outer: FunctionScope | null): FunctionScope => ({
  outer,
  visible: [],
  captures: [],
  unresolved: [],
  slots: 2,
  usesGlobals: false,
  caught: null,
  loops: 0,
});

export function declare(scope: FunctionScope, name: string, constant: boolean, captured = false): Variable {
  const variable: Variable = { name, slot: scope.slots++, constant, captured };
  scope.visible.push(variable);
  return variable;
}

/** A slot that no name reaches. */
export const hiddenVariable = (scope: FunctionScope): Variable => ({
  name: '',
  slot: scope.slots++,
  constant: true,
  captured: false,
});

export const enterBlock = (scope: FunctionScope): number => scope.visible.length;
export const leaveBlock = (scope: FunctionScope, mark: number): void => {
  scope.visible.length = mark;
};

/** Finds a name here or, in a closure, around it; what is found outside becomes a shared variable. */
export function resolve(scope: FunctionScope, name: string): Variable | null {
  const own = scope.visible.findLast((variable) => variable.name === name);
  if (own !== undefined) return own;
  const captured = scope.captures.find((capture) => capture.to.name === name);
  if (captured !== undefined) return captured.to;
  const from = scope.outer === null ? null : resolve(scope.outer, name);
  if (from === null) return null;
  from.captured = true;
  const to: Variable = { name, slot: scope.slots++, constant: from.constant, captured: true };
  scope.captures.push({ from, to });
  return to;
}

/** A closure that cannot find a name fails where it is made, and so do the closures around it. */
export function noteUnresolved(scope: FunctionScope, name: string, position: Position): void {
  for (let at: FunctionScope | null = scope; at !== null; at = at.outer)
    at.unresolved.push({ name, position });
}

export function visibleNames(scope: FunctionScope): readonly string[] {
  const names = scope.visible.map((variable) => variable.name);
  return scope.outer === null ? names : [...names, ...visibleNames(scope.outer)];
}

export const visibleVariables = (scope: FunctionScope): ReadonlyMap<string, Variable> =>
  new Map([
    ...scope.captures.map(({ to }) => [to.name, to] as const),
    ...scope.visible.map((variable) => [variable.name, variable] as const),
  ]);
