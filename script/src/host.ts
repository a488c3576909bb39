import { createFault, createThrown, type Fault, isFault } from './errors.ts';
import { functionNotFound } from './faults.ts';
import { nowhere } from './position.ts';
import { argumentsToJson, fromJson, type Json } from './values/json.ts';
import { Type, typeBit } from './values/kinds.ts';
import type { Value } from './values/value.ts';

export type HostType = 'int' | 'float' | 'number' | 'string' | 'bool' | 'array' | 'map' | 'unit' | 'any';

/** The lists of arguments that a host function takes. */
export type HostSignature = readonly (readonly HostType[])[];

/** What a host function gets besides its arguments. */
export interface HostCall {
  readonly signal: AbortSignal;
  /** Writes to the output of the script. */
  readonly print: (text: string) => void;
}

/** Gets copies of its arguments as JSON and answers with JSON; what it throws, the script can catch as a text. */
export type HostFunction = (args: readonly Json[], call: HostCall) => Promise<unknown> | unknown;

/** Thrown by a host function to hand the script a value of its choice. */
export class HostError extends Error {
  override readonly name = 'HostError';
  readonly value: Json;

  constructor(message: string, value: Json = message) {
    super(message);
    this.value = value;
  }
}

const bits: Readonly<Record<HostType, number>> = {
  int: Type.int,
  float: Type.float,
  number: Type.int | Type.float,
  string: Type.string,
  bool: Type.bool,
  array: Type.array,
  map: Type.map,
  unit: Type.unit,
  any: Type.any & ~Type.fn & ~Type.sequence,
};

/** As the compiler needs them: the numbers of arguments of each name. */
export type HostFunctions = ReadonlyMap<string, readonly number[]>;

export const arities = (signatures: Readonly<Record<string, HostSignature>>): HostFunctions =>
  new Map(Object.entries(signatures).map(([name, lists]) => [name, lists.map((list) => list.length)]));

const fits = (list: readonly HostType[], args: readonly Value[]): boolean =>
  list.length === args.length && list.every((type, i) => (bits[type] & typeBit(args[i])) !== 0);

/** The only way from a script to the host: by name, with copies of the arguments. */
export function createHostCaller(
  signatures: Readonly<Record<string, HostSignature>>,
  functions: Readonly<Record<string, HostFunction>>,
  call: HostCall,
  maxBytes: number,
): (name: string, args: readonly Value[]) => Promise<Value> {
  return async (name, args) => {
    const signature = Object.hasOwn(signatures, name) ? signatures[name] : undefined;
    const fn = Object.hasOwn(functions, name) ? functions[name] : undefined;
    if (signature?.some((list) => fits(list, args)) !== true || fn === undefined)
      throw functionNotFound(name, args, nowhere);
    try {
      return fromJson(await fn(argumentsToJson(args, maxBytes), call));
    } catch (error) {
      throw hostFault(error, call.signal);
    }
  };
}

function hostFault(error: unknown, signal: AbortSignal): Fault {
  if (isFault(error)) return error;
  if (signal.aborted) return terminated();
  if (error instanceof HostError) return createThrown(fromJson(error.value), error.message, nowhere);
  const text = error instanceof Error ? error.message : String(error);
  return createThrown(text, text, nowhere);
}

export const terminated = (why = 'Script terminated'): Fault => createFault('ErrorTerminated', why);
