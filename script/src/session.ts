import type { FunctionDefinition } from './parser/ast.ts';
import type { Cell } from './values/value.ts';

/** What lives on between the inputs of one shell: variables and functions. */
export interface Session {
  readonly variables: Map<string, SessionVariable>;
  readonly functions: Map<string, FunctionDefinition>;
}

export interface SessionVariable {
  readonly cell: Cell;
  readonly constant: boolean;
}

export const createSession = (): Session => ({ variables: new Map(), functions: new Map() });

export const functionKey = ({ receiver, name, parameters }: FunctionDefinition): string =>
  `${receiver ?? ''}.${name}/${parameters.length}`;
