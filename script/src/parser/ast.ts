import type { Position } from '../position.ts';
import type { Value } from '../values/value.ts';

/** A declared variable, resolved while parsing: at run time it is a slot of the frame, never a name. */
export interface Variable {
  readonly name: string;
  readonly slot: number;
  readonly constant: boolean;
  /** Some closure captures it: its slot then holds a cell. */
  captured: boolean;
}

export interface Capture {
  /** In the frame where the closure is created. */
  readonly from: Variable;
  /** In the closure's own frame. */
  readonly to: Variable;
}

export interface FunctionDefinition {
  readonly name: string;
  readonly parameters: readonly Variable[];
  readonly body: BlockNode;
  readonly position: Position;
  readonly isClosure: boolean;
  /** `fn int.f()`: the type the method is for. */
  readonly receiver: string | null;
  readonly slots: number;
  readonly captures: readonly Capture[];
  readonly unresolved: readonly NameUse[];
  readonly usesGlobals: boolean;
}

export interface NameUse {
  readonly name: string;
  readonly position: Position;
}

export interface ConstNode {
  readonly type: 'const';
  readonly value: Value;
  readonly position: Position;
}
export interface TemplateNode {
  readonly type: 'template';
  readonly parts: readonly (string | BlockNode)[];
  readonly position: Position;
}
export interface ArrayNode {
  readonly type: 'array';
  readonly items: readonly Expression[];
  readonly position: Position;
}
export interface MapNode {
  readonly type: 'map';
  readonly keys: readonly string[];
  readonly values: readonly Expression[];
  readonly position: Position;
}
export interface VariableNode {
  readonly type: 'variable';
  readonly name: string;
  readonly variable: Variable | null;
  readonly position: Position;
}
export interface ThisNode {
  readonly type: 'this';
  readonly position: Position;
}
export interface GlobalNode {
  readonly type: 'global';
  readonly space: string;
  readonly name: string;
  readonly position: Position;
}
export interface UnaryNode {
  readonly type: 'unary';
  readonly op: string;
  readonly operand: Expression;
  readonly position: Position;
}
export interface BinaryNode {
  readonly type: 'binary';
  readonly op: string;
  readonly left: Expression;
  readonly right: Expression;
  readonly position: Position;
}
export interface LogicNode {
  readonly type: 'logic';
  readonly op: '&&' | '||' | '??';
  readonly left: Expression;
  /** After `??` also a jump. */
  readonly right: Expression | JumpNode | ThrowNode;
  readonly position: Position;
}
export interface CallNode {
  readonly type: 'call';
  readonly name: string;
  readonly args: readonly Expression[];
  /** `f!(…)`: the variables of the caller that the body may use. */
  readonly bang: ReadonlyMap<string, Variable> | null;
  /** For `is_def_var`: the names in scope here. */
  readonly visible: readonly string[] | null;
  readonly position: Position;
}
export interface ClosureNode {
  readonly type: 'closure';
  readonly definition: FunctionDefinition;
  readonly position: Position;
}
export type ChainStep =
  | {
      readonly type: 'property';
      readonly name: string;
      readonly optional: boolean;
      readonly position: Position;
    }
  | {
      readonly type: 'index';
      readonly index: Expression;
      readonly optional: boolean;
      readonly position: Position;
    }
  | {
      readonly type: 'method';
      readonly name: string;
      readonly args: readonly Expression[];
      readonly optional: boolean;
      readonly position: Position;
    };
export interface ChainNode {
  readonly type: 'chain';
  readonly base: Expression;
  readonly steps: readonly ChainStep[];
  readonly position: Position;
}
export interface IfNode {
  readonly type: 'if';
  readonly condition: Expression;
  readonly then: BlockNode;
  readonly otherwise: BlockNode | IfNode | null;
  readonly position: Position;
}
export interface SwitchCase {
  readonly label: Expression | null;
  readonly guard: Expression | null;
  readonly body: Statement;
}
export interface SwitchNode {
  readonly type: 'switch';
  readonly subject: Expression;
  readonly cases: readonly SwitchCase[];
  readonly position: Position;
}
export interface BlockNode {
  readonly type: 'block';
  readonly statements: readonly Statement[];
  readonly position: Position;
}
/** `while`, `loop` (no condition), `do … while` and `do … until`. */
export interface LoopNode {
  readonly type: 'loop';
  readonly condition: Expression | null;
  readonly until: boolean;
  readonly testFirst: boolean;
  readonly body: BlockNode;
  readonly position: Position;
}
export interface ForNode {
  readonly type: 'for';
  readonly item: Variable;
  readonly counter: Variable | null;
  readonly iterable: Expression;
  readonly body: BlockNode;
  readonly position: Position;
}
export type Expression =
  | ConstNode
  | TemplateNode
  | ArrayNode
  | MapNode
  | VariableNode
  | ThisNode
  | GlobalNode
  | UnaryNode
  | BinaryNode
  | LogicNode
  | CallNode
  | ClosureNode
  | ChainNode
  | IfNode
  | SwitchNode
  | BlockNode
  | LoopNode
  | ForNode;

export interface LetNode {
  readonly type: 'let';
  readonly variable: Variable;
  readonly value: Expression | null;
  /** At the top level of the script: a constant is then visible as `global::name`. */
  readonly topLevel: boolean;
  readonly position: Position;
}
export interface AssignNode {
  readonly type: 'assign';
  readonly target: Expression;
  /** `+` for `+=`; empty for `=`. */
  readonly op: string;
  readonly value: Expression;
  readonly position: Position;
}
export interface JumpNode {
  readonly type: 'jump';
  readonly jump: 'return' | 'break' | 'continue';
  readonly value: Expression | null;
  readonly position: Position;
}
export interface ThrowNode {
  readonly type: 'throw';
  readonly value: Expression | null;
  /** Without a value in a catch block it throws the caught error again; the slot that holds it. */
  readonly caught: Variable | null;
  readonly position: Position;
}
export interface TryNode {
  readonly type: 'try';
  readonly body: BlockNode;
  readonly variable: Variable | null;
  /** Holds the caught fault itself for a `throw;`. */
  readonly caught: Variable;
  readonly handler: BlockNode;
  readonly position: Position;
}
export interface ImportNode {
  readonly type: 'import';
  readonly path: Expression;
  readonly position: Position;
}
export interface EmptyNode {
  readonly type: 'empty';
  readonly position: Position;
}
export type Statement =
  | Expression
  | LetNode
  | AssignNode
  | JumpNode
  | ThrowNode
  | TryNode
  | ImportNode
  | EmptyNode;
export type AnyNode = Statement;

export interface Script {
  readonly main: FunctionDefinition;
  readonly functions: readonly FunctionDefinition[];
  readonly hasClosures: boolean;
}
