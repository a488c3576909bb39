import type { HostFunctions } from '../host.ts';
import type { AnyNode, BlockNode, FunctionDefinition, Variable, VariableNode } from '../parser/ast.ts';
import type { Value } from '../values/value.ts';
import type { Code } from './code.ts';
import type { CompiledFunction } from './runtime.ts';

/** What all functions of a program share while they are compiled. */
export interface Program {
  readonly functions: ReadonlyMap<string, CompiledFunction>;
  readonly methods: ReadonlyMap<string, CompiledFunction>;
  readonly host: HostFunctions;
  readonly constants: ReadonlyMap<string, Value>;
  /** A call through a pointer may end in a host function. */
  readonly pointersWait: boolean;
  readonly recordsGlobals: boolean;
  readonly waits: (definition: FunctionDefinition) => boolean;
  readonly session: SessionWriter | null;
}

export type SessionWriter = (name: string, constant: boolean, cell: { v: Value; shared: boolean }) => void;

/** Where a node stands. */
export interface Context {
  readonly program: Program;
  /** In a chain of statements from the function's body: jumps then travel as a flag, else as an exception. */
  readonly direct: boolean;
  /** Inside the body of a `try` of the same function: a `throw` then travels as a flag too. */
  readonly inTry: boolean;
  /** The script itself, outside every function: its loops let others run. */
  readonly topLevel: boolean;
  readonly marks: Marks;
  /** Variables of the caller that a function run by `f!(…)` may use. */
  readonly borrowed: ReadonlyMap<string, Variable> | null;
  /** The value is only looked at, never kept: it need not count as shared. */
  readonly borrow: boolean;
  readonly compile: (node: AnyNode, context: Context) => Code;
  readonly compileBlock: (node: BlockNode, context: Context) => Code;
  readonly compileFunction: (
    definition: FunctionDefinition,
    program: Program,
    inBang: boolean,
  ) => CompiledFunction;
  /** In a body that `f!(…)` compiled: another one in it is an ordinary call, else compiling would not end. */
  readonly inBang: boolean;
}

/** Filled while a body is compiled: whether a jump in it travels as an exception. */
export interface Marks {
  loopSignals: boolean;
  returnSignals: boolean;
}

/** An operand: its value is used at once by an operator. */
export const lookAt = (node: AnyNode, context: Context): Code =>
  context.compile(node, { ...context, direct: false, borrow: true });

/** A value that some place will keep. */
export const keep = (node: AnyNode, context: Context): Code =>
  context.compile(node, { ...context, direct: false, borrow: false });

export const variableOf = (node: VariableNode, { borrowed }: Context): Variable | null =>
  node.variable ?? borrowed?.get(node.name) ?? null;
