import type { HostFunctions } from '../host.ts';
import type { AnyNode, FunctionDefinition, Script } from '../parser/ast.ts';
import type { Value } from '../values/value.ts';
import { analyse, shareBangVariables } from './analysis.ts';
import { compileAssign, compileLet } from './assign.ts';
import { compileBinary, compileUnary } from './binary.ts';
import { compileBlock, compileIf } from './blocks.ts';
import { compileCall } from './call.ts';
import { compileChain } from './chain.ts';
import { type Code, plain } from './code.ts';
import type { Context, Marks, Program, SessionWriter } from './context.ts';
import {
  compileArray,
  compileClosure,
  compileConst,
  compileGlobal,
  compileMap,
  compileTemplate,
  compileThis,
  compileVariable,
} from './expressions.ts';
import { catchSignals, compileImport, compileJump, compileThrow, compileTry } from './jumps.ts';
import { compileLogic } from './logic.ts';
import { compileFor, compileLoop } from './loops.ts';
import type { CompiledFunction } from './runtime.ts';
import { compileSwitch } from './switch.ts';

export interface CompileOptions {
  readonly host: HostFunctions;
  readonly constants: ReadonlyMap<string, Value>;
  /** Told of every variable of the top level; null when nothing outlives the script. */
  readonly session: SessionWriter | null;
  /** Values from elsewhere may hold closures that reach the host. */
  readonly hasForeignPointers: boolean;
}

export interface CompiledProgram {
  readonly main: CompiledFunction;
  readonly program: Program;
}

const unready = (): never => {
  throw new Error('a function ran before it was compiled');
};

export function compileScript(script: Script, options: CompileOptions): CompiledProgram {
  shareBangVariables(script);
  const reach = analyse(script, options.host, options.hasForeignPointers);
  const functions = new Map<string, CompiledFunction>();
  const methods = new Map<string, CompiledFunction>();
  const program: Program = {
    functions,
    methods,
    host: options.host,
    constants: options.constants,
    pointersWait: reach.pointersWait,
    recordsGlobals: script.functions.length > 0 || script.hasClosures,
    waits: reach.waits,
    session: options.session,
  };
  for (const definition of script.functions) {
    const compiled: CompiledFunction = { definition, waits: reach.waits(definition), run: unready };
    const key = `${definition.name}/${definition.parameters.length}`;
    if (definition.receiver === null) functions.set(key, compiled);
    else methods.set(`${definition.receiver}.${key}`, compiled);
  }
  for (const compiled of [...functions.values(), ...methods.values()])
    compiled.run = compileBody(compiled.definition, program, { topLevel: false, inBang: false }).run;
  const main = compileBody(script.main, program, { topLevel: true, inBang: false });
  return { main: { definition: script.main, waits: main.waits, run: main.run }, program };
}

function compileFunction(
  definition: FunctionDefinition,
  program: Program,
  inBang: boolean,
): CompiledFunction {
  const code = compileBody(definition, program, { topLevel: false, inBang });
  return { definition, waits: code.waits, run: code.run };
}

function compileBody(
  definition: FunctionDefinition,
  program: Program,
  place: Pick<Context, 'topLevel' | 'inBang'>,
): Code {
  const marks: Marks = { loopSignals: false, returnSignals: false };
  const borrowed = definition.isClosure ? null : new Map(definition.captures.map(({ to }) => [to.name, to]));
  const context: Context = {
    program,
    direct: true,
    inTry: false,
    ...place,
    marks,
    borrowed,
    borrow: false,
    compile,
    compileBlock,
    compileFunction,
  };
  const code = compileBlock(definition.body, context);
  return marks.returnSignals ? catchSignals(code, ['return']) : code;
}

const nothing = plain(() => undefined, 0);

function compile(node: AnyNode, context: Context): Code {
  switch (node.type) {
    case 'const':
      return compileConst(node);
    case 'variable':
      return compileVariable(node, context);
    case 'this':
      return compileThis(node, context);
    case 'global':
      return compileGlobal(node);
    case 'template':
      return compileTemplate(node, context);
    case 'array':
      return compileArray(node, context);
    case 'map':
      return compileMap(node, context);
    case 'unary':
      return compileUnary(node, context);
    case 'binary':
      return compileBinary(node, context);
    case 'logic':
      return compileLogic(node, context);
    case 'call':
      return compileCall(node, context);
    case 'closure':
      return compileClosure(node, context);
    case 'chain':
      return compileChain(node, context);
    case 'if':
      return compileIf(node, context);
    case 'switch':
      return compileSwitch(node, context);
    case 'block':
      return compileBlock(node, context);
    case 'loop':
      return compileLoop(node, context);
    case 'for':
      return compileFor(node, context);
    case 'let':
      return compileLet(node, context);
    case 'assign':
      return compileAssign(node, context);
    case 'jump':
      return compileJump(node, context);
    case 'throw':
      return compileThrow(node, context);
    case 'try':
      return compileTry(node, context);
    case 'import':
      return compileImport(node, context);
    case 'empty':
      return nothing;
  }
}
