import { type CompiledProgram, compileScript } from './compile/compiler.ts';
import { createFrame } from './compile/invoke.ts';
import { createRuntime } from './compile/start.ts';
import { isExit, isFault, ScriptError, stackOverflowOf, syntaxFault } from './errors.ts';
import { arities, type HostFunction, type HostSignature } from './host.ts';
import { defaultLimits, type Limits } from './limits.ts';
import { parse } from './parser/parser.ts';
import { type Position, positionAt } from './position.ts';
import { functionKey, type Session } from './session.ts';
import { fromJson, type Json } from './values/json.ts';
import type { Cell, Value } from './values/value.ts';

export interface CompileSettings {
  /** Names and parameters of the host functions the script may call. */
  readonly host?: Readonly<Record<string, HostSignature>>;
  /** Visible everywhere, also in functions; no script can change them. */
  readonly constants?: Readonly<Record<string, Json>>;
  readonly limits?: Partial<Limits>;
  /** Variables and functions of earlier inputs; this script adds its own. */
  readonly session?: Session;
}

export interface Script {
  readonly compiled: CompiledProgram;
  readonly host: Readonly<Record<string, HostSignature>>;
  readonly limits: Limits;
  readonly session: Session | null;
}

export interface RunSettings {
  readonly host?: Readonly<Record<string, HostFunction>>;
  readonly signal?: AbortSignal;
  /** Called for each text that the script prints, as it prints it. */
  readonly print?: (text: string) => void;
  /** Milliseconds of a clock that only goes forward, for `timestamp()`. */
  readonly now?: () => number;
}

export interface ScriptResult {
  readonly value: Value;
  readonly output: readonly string[];
  readonly operations: number;
  /** Where the value comes from: the last statement. */
  readonly place: Position;
}

/** Every script may sleep; it waits like any other call to the host. */
const ownFunctions: Readonly<Record<string, HostSignature>> = { sleep: [['number']] };

/** Throws a `ScriptError` with the place of the first mistake. */
export function compile(source: string, settings: CompileSettings = {}): Script {
  const limits = { ...defaultLimits, ...settings.limits };
  const session = settings.session ?? null;
  const host = { ...ownFunctions, ...settings.host };
  try {
    if (source.length > limits.sourceLength) throw syntaxFault('Script is too large', positionAt(1, 1));
    const compiled = compileSource(source, limits, host, settings.constants ?? {}, session);
    return { compiled, host, limits, session };
  } catch (error) {
    throw scriptError(error, [], limits);
  }
}

function compileSource(
  source: string,
  limits: Limits,
  host: Readonly<Record<string, HostSignature>>,
  constants: Readonly<Record<string, Json>>,
  session: Session | null,
): CompiledProgram {
  const known = session === null ? null : [...session.variables];
  const script = parse(source, {
    maxDepth: limits.expressionDepth,
    session: known?.map(([name, { constant }]) => ({ name, constant })) ?? null,
  });
  for (const definition of script.functions) session?.functions.set(functionKey(definition), definition);
  const functions = session === null ? script.functions : [...session.functions.values()];
  return compileScript(
    { ...script, functions },
    {
      host: arities(host),
      constants: new Map(Object.entries(constants).map(([name, value]) => [name, fromJson(value)])),
      session:
        session === null
          ? null
          : (name, constant, cell) => void session.variables.set(name, { cell, constant }),
      hasForeignPointers: session !== null && session.variables.size > 0,
    },
  );
}

/** Runs to the end. Rejects with a `ScriptError` that also holds what was printed. */
export async function run(script: Script, settings: RunSettings = {}): Promise<ScriptResult> {
  const { compiled, limits, session } = script;
  const started = createRuntime(script, settings);
  const { rt } = started;
  const frame = createFrame(compiled.main, [], undefined, []);
  if (session !== null) bindSession(script, session, frame);
  rt.frame = frame;
  const place = placeOfResult(compiled);
  const resultOf = (value: Value): ScriptResult => ({
    value,
    output: rt.output,
    operations: limits.operations - rt.left,
    place,
  });
  try {
    return resultOf(await compiled.main.run(rt, frame));
  } catch (error) {
    if (isExit(error)) return resultOf(error.value);
    throw scriptError(error, rt.output, limits);
  } finally {
    started.finish();
  }
}

const placeOfResult = ({ main }: CompiledProgram): Position =>
  main.definition.body.statements.findLast(({ type }) => type !== 'empty')?.position ?? positionAt(1, 1);

/** The session's variables as they were when the script was compiled. */
function bindSession({ compiled }: Script, { variables }: Session, frame: unknown[]): void {
  for (const parameter of compiled.main.definition.parameters)
    frame[parameter.slot] = variables.get(parameter.name)?.cell satisfies Cell | undefined;
}

function scriptError(error: unknown, output: readonly string[], limits: Limits): unknown {
  const fault = isFault(error) ? error : stackOverflowOf(error, positionAt(1, 1));
  if (fault === null) return error;
  const result = new ScriptError(fault, limits.messageLength);
  result.output = output;
  return result;
}
