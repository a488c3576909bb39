import { ApiCallError } from '@lintel/contract/client';
import type { ScriptChange } from '@lintel/contract/scripting';
import type { Command } from 'commander';
import { type Context, requireToken, type Start } from '../context.ts';
import { exactText } from '../exact-json.ts';
import { CliError, exitCodes } from '../exit.ts';
import type { Preprocessed } from '../preprocess/preprocess.ts';
import { explainFailure } from '../preprocess/script-failure.ts';
import { visible } from '../terminal/visible-text.ts';
import { maskValues, readScript, readValues, type ValueFiles, type Values } from './script-source.ts';

interface Options extends ValueFiles {
  readonly plan?: boolean;
}

export function addScriptCommand(program: Command, start: Start): void {
  program
    .command('script')
    .description('work with scripts')
    .command('run')
    .argument('<file>', 'the script, or - for standard input')
    .option('--from-env-file <file>', 'values for {{KEY}}, as KEY=value lines')
    .option('--from-secret <file.json>', 'values for {{KEY}}, as one JSON object')
    .option('--plan', 'change nothing, show what would be changed')
    .description('run a script on the service')
    .action((file: string, options: Options, command: Command) => runScript(start(command), file, options));
}

export async function runScript(context: Context, file: string, options: Options): Promise<void> {
  requireToken(context);
  const { world, terminal, client } = context;
  const values = readValues(world, options);
  const script = await readScript(world, file, values);
  const plan = options.plan === true;
  const call = client('execute_script', { query: { plan }, body: { script: script.text } });
  const answer = await terminal
    .during(`${plan ? 'planning' : 'running'} ${file}`, call)
    .catch((error: unknown) => throwExplained(context, error, script, values));
  if (context.isJson) return terminal.printJson(answer);
  for (const text of answer.output) terminal.print(text);
  if (answer.changes !== undefined) printChanges(context, answer.changes);
  else if (answer.result !== null && answer.result !== undefined) terminal.print(exactText(answer.result, 2));
}

/** Shows what the script printed before it failed, and the failure where it was written. */
function throwExplained(context: Context, error: unknown, script: Preprocessed, values: Values): never {
  if (context.world.signal.aborted)
    throw new CliError(exitCodes.interrupted, 'Interrupted. What the script did before stays.');
  if (!(error instanceof ApiCallError) || error.code !== 'script_error') throw error;
  const { place, output } = readFailure(error.body);
  const { message, at } = explainFailure(maskValues(error.message, values), place, script);
  if (!context.isJson) for (const text of output) context.terminal.print(text);
  throw new CliError(exitCodes.script, message, {
    complaints: [{ message, at }],
    details: {
      code: error.code,
      status: error.status,
      correlation_id: error.correlationId,
      file: at?.name ?? null,
      line: at?.line ?? null,
      column: at?.column ?? null,
      output,
    },
    cause: error,
  });
}

interface Failure {
  readonly place: { readonly line: number; readonly column: number } | null;
  readonly output: readonly string[];
}

function readFailure({ details, output }: ApiCallError['body']): Failure {
  const { line = 0, column = 0 } = details?.[0] ?? {};
  return { place: line === 0 ? null : { line, column }, output: output ?? [] };
}

const signs: Readonly<Record<string, string>> = { create: '+', update: '~', delete: '-', purge: '-' };

function printChanges({ terminal }: Context, changes: readonly ScriptChange[]): void {
  const { style } = terminal;
  for (const { op, kind, id, fields } of changes) {
    const sign = signs[op] ?? '!';
    const paint = sign === '+' ? style.green : sign === '-' ? style.red : style.yellow;
    terminal.print(paint(`${sign} ${op} ${kind} ${visible(nameOf(fields) ?? id)}`));
  }
  const counts = Map.groupBy(changes, ({ op }) => op);
  const summary = [...counts].map(([op, some]) => `${some.length} ${op}`).join(', ');
  terminal.print(`${style.bold('Plan:')} ${summary || 'no changes'}. Nothing was changed.`);
}

function nameOf({ name, external_id }: ScriptChange['fields']): string | null {
  const text: unknown = typeof name === 'object' && name !== null ? Object.values(name)[0] : name;
  if (typeof text === 'string') return `"${text}"`;
  return typeof external_id === 'string' ? external_id : null;
}
