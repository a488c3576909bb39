import { resolve } from 'node:path';
import type { ApiClient } from '@lintel/contract/client';
import { isFault, ScriptError } from '@lintel/script/errors';
import { defaultLimits } from '@lintel/script/limits';
import { parse } from '@lintel/script/parser/parser';
import { lineOf } from '@lintel/script/position';
import { compile, run } from '@lintel/script/script';
import { createSession, type Session } from '@lintel/script/session';
import type { Value } from '@lintel/script/values/value';
import type { Clock } from '../clock.ts';
import { CliError, exitCodes } from '../exit.ts';
import { type Preprocessed, preprocess } from '../preprocess/preprocess.ts';
import { PreprocessError } from '../preprocess/preprocess-error.ts';
import { createFileReader } from '../preprocess/read-files.ts';
import { withoutPlaces } from '../preprocess/script-failure.ts';
import { createHostFunctions, hostConstants, hostSignatures } from './host-functions.ts';

export interface EvaluatorDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly brand: string;
  readonly cwd: string;
  readonly values: ReadonlyMap<string, string>;
  readonly print: (text: string) => void;
}

export interface Evaluator {
  /** Variables and functions of all inputs so far. */
  readonly session: Session;
  readonly constants: readonly string[];
  /** Whether the input stops where something must follow. */
  readonly isIncomplete: (input: string) => boolean;
  readonly evaluate: (input: string, signal: AbortSignal) => Promise<Value>;
}

/** Runs the language here, input by input, and asks the service only for what it alone can do. */
export function createEvaluator(deps: EvaluatorDeps): Evaluator {
  const session = createSession();
  const constants = hostConstants(deps.brand);
  const host = createHostFunctions(deps.client, deps.clock);
  const files = createFileReader(deps.cwd);
  const prepare = (text: string) =>
    preprocess({
      entry: { path: resolve(deps.cwd, '<shell>'), name: '<shell>', text },
      values: deps.values,
      files,
    });
  return {
    session,
    constants: Object.keys(constants),
    isIncomplete: (input) => {
      try {
        return stopsAtEnd(prepare(input).text);
      } catch (error) {
        // Evaluating the input says it.
        if (error instanceof PreprocessError) return false;
        throw error;
      }
    },
    evaluate: async (input, signal) => {
      const source = prepare(input);
      try {
        const script = compile(source.text, { host: hostSignatures, constants, session });
        return (await run(script, { host, signal, print: deps.print })).value;
      } catch (error) {
        throw error instanceof ScriptError ? explain(error, source) : error;
      }
    },
  };
}

/** Only the end stands on the empty last line, so a mistake there means that something is missing. */
function stopsAtEnd(text: string): boolean {
  try {
    parse(`${text}\n`, { maxDepth: defaultLimits.expressionDepth, session: null });
    return false;
  } catch (error) {
    return isFault(error) && lineOf(error.position) === text.split('\n').length + 1;
  }
}

function explain({ message: text, line, column }: ScriptError, source: Preprocessed): CliError {
  const message = withoutPlaces(text);
  const at = line === 0 ? undefined : source.locate({ line, column });
  return new CliError(exitCodes.script, message, {
    complaints: [{ message, at }],
    details: { code: 'script_error', file: at?.name, line: at?.line, column: at?.column },
  });
}
