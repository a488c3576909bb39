import { defaultLimits } from './limits.ts';
import { columnOf, lineOf, nowhere, type Position, positionText } from './position.ts';
import type { Value } from './values/value.ts';

/** The engine's names for what can go wrong; a script sees them as `error` in a caught error map. */
export type ErrorKind =
  | 'ErrorParsing'
  | 'ErrorVariableNotFound'
  | 'ErrorFunctionNotFound'
  | 'ErrorDotExpr'
  | 'ErrorIndexingType'
  | 'ErrorMismatchDataType'
  | 'ErrorMismatchOutputType'
  | 'ErrorArrayBounds'
  | 'ErrorStringBounds'
  | 'ErrorBitFieldBounds'
  | 'ErrorArithmetic'
  | 'ErrorAssignmentToConstant'
  | 'ErrorNonPureMethodCallOnConstant'
  | 'ErrorUnboundThis'
  | 'ErrorFor'
  | 'ErrorModuleNotFound'
  | 'ErrorRuntime'
  | 'ErrorTooManyOperations'
  | 'ErrorStackOverflow'
  | 'ErrorDataTooLarge'
  | 'ErrorTerminated';

/** No script may catch these, and a call does not add its line to them: it moves their position to itself. */
const systemKinds: ReadonlySet<ErrorKind> = new Set([
  'ErrorTooManyOperations',
  'ErrorStackOverflow',
  'ErrorDataTooLarge',
  'ErrorTerminated',
]);

export interface Fault {
  readonly fault: true;
  readonly kind: ErrorKind;
  /** The innermost text, without position. */
  readonly message: string;
  position: Position;
  /** Where it happened, when the engine's text names no position. Never printed; it only fills line and column. */
  quiet: Position;
  readonly fields: Readonly<Record<string, Value>> | null;
  /** What `throw` was given. */
  readonly thrown: Value;
  trail: { readonly label: string; readonly name: string; position: Position }[] | null;
}

/** Faults are plain records: a script may throw thousands, and an Error would collect a stack for each. */
export const createFault = (
  kind: ErrorKind,
  message: string,
  position: Position = nowhere,
  fields: Readonly<Record<string, Value>> | null = null,
): Fault => ({
  fault: true,
  kind,
  message,
  position,
  quiet: nowhere,
  fields,
  thrown: undefined,
  trail: null,
});

export const createThrown = (thrown: Value, text: string, position: Position): Fault => ({
  fault: true,
  kind: 'ErrorRuntime',
  message: text === '' ? 'Runtime error' : `Runtime error: ${text}`,
  position,
  quiet: nowhere,
  fields: null,
  thrown,
  trail: null,
});

export const isFault = (error: unknown): error is Fault =>
  typeof error === 'object' && error !== null && (error as { fault?: unknown }).fault === true;

export const isSystemFault = (fault: Fault): boolean => systemKinds.has(fault.kind);

/** `exit(v)` is no error: it unwinds everything and ends the script with a value. */
export interface Exit {
  readonly exit: true;
  readonly value: Value;
}

export const isExit = (error: unknown): error is Exit =>
  typeof error === 'object' && error !== null && (error as { exit?: unknown }).exit === true;

/** Gives a fault that knows no place the place of the call that raised it. */
export function placed(error: unknown, position: Position): unknown {
  if (!isFault(error)) return stackOverflowOf(error, position) ?? error;
  const call = error.trail?.at(-1);
  if (call === undefined && error.position === nowhere) error.position = position;
  if (call?.position === nowhere) call.position = position;
  return error;
}

/**
 * The statement it happened in, for a fault that nobody has given a closer place. Only what the engine gives a place to
 * shows it in its text.
 */
export function inStatement(error: unknown, position: Position): unknown {
  if (!isFault(error)) return stackOverflowOf(error, position) ?? error;
  if (outermostPosition(error) !== nowhere) return error;
  if (isSystemFault(error)) error.position = error.quiet || position;
  else if (error.quiet === nowhere) error.quiet = position;
  return error;
}

/** Passes a fault through a call of `name` at `position`, as the engine words it. */
export function throughCall(error: unknown, name: string, position: Position): unknown {
  if (!isFault(error)) return stackOverflowOf(error, position) ?? error;
  if (isSystemFault(error)) {
    error.position = position;
    return error;
  }
  const label = name.startsWith('anon$') ? 'in closure call' : `in call to function '${name}'`;
  error.trail ??= [];
  error.trail.push({ label, name, position });
  return error;
}

/** Deep recursion ends at the call depth limit; should the host's stack be smaller still, the script hears the same. */
export function stackOverflowOf(error: unknown, position: Position): Fault | null {
  return error instanceof RangeError ? createFault('ErrorStackOverflow', 'Stack overflow', position) : null;
}

const shortened = (text: string, max: number): string =>
  text.length > max ? `${text.slice(0, max)}…` : text;

export function faultText(fault: Fault, maxLength = Number.POSITIVE_INFINITY): string {
  const first = shortened(fault.message, maxLength) + positionText(fault.position);
  if (fault.trail === null) return first;
  return [first, ...fault.trail.map((call) => call.label + positionText(call.position))].join('\n');
}

/** As a caught error shows it: everything but the outermost position. */
export function faultTextInside(fault: Fault): string {
  if (fault.trail === null) return fault.message;
  const last = fault.trail[fault.trail.length - 1];
  return faultText(fault).slice(0, -positionText(last?.position ?? nowhere).length || undefined);
}

export const outermostPosition = (fault: Fault): Position =>
  fault.trail === null ? fault.position : (fault.trail[fault.trail.length - 1]?.position ?? nowhere);

/** Room for the calls it went through, behind the longest message. */
const traceLength = 8 * 1024;

/** What leaves the package: every failure of compiling or running a script, with a place for the caret. */
export class ScriptError extends Error {
  override readonly name = 'ScriptError';
  readonly kind: ErrorKind;
  /** 1-based; 0 when no place is known. */
  readonly line: number;
  readonly column: number;
  /** What the script threw, for `ErrorRuntime`. */
  readonly thrown: Value;
  /** Texts printed before the failure. */
  output: readonly string[] = [];

  constructor(fault: Fault, maxLength = defaultLimits.messageLength) {
    super(shortened(faultText(fault, maxLength), maxLength + traceLength));
    this.kind = fault.kind;
    const position = outermostPosition(fault) || fault.quiet;
    this.line = lineOf(position);
    this.column = columnOf(position);
    this.thrown = fault.thrown;
  }
}

export const syntaxFault = (message: string, position: Position): Fault =>
  createFault('ErrorParsing', `Syntax error: ${message}`, position);
