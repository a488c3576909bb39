import { toJson } from '@lintel/script/values/json';
import { toDebug } from '@lintel/script/values/text';
import type { Value } from '@lintel/script/values/value';
import type { Command } from 'commander';
import { explainError } from '../api/explain-error.ts';
import { type Context, requireToken, type Start } from '../context.ts';
import { CliError, exitCodes } from '../exit.ts';
import { completeLine } from '../shell/complete.ts';
import { createEvaluator, type Evaluator } from '../shell/evaluator.ts';
import { readInputs } from '../shell/input-loop.ts';
import { reportError } from '../terminal/report-error.ts';
import { readValues, type ValueFiles } from './script-source.ts';

export function addShellCommand(program: Command, start: Start): void {
  program
    .command('shell')
    .option('--from-env-file <file>', 'values for {{KEY}}, as KEY=value lines')
    .option('--from-secret <file.json>', 'values for {{KEY}}, as one JSON object')
    .description('type scripts line by line; variables and functions stay')
    .action((options: ValueFiles, command: Command) => runShell(start(command), options));
}

const help = `Type any script: let doors = list("entity"); doors.len()
Input goes on over several lines until it is complete, or ends with an empty line outside of brackets; TAB completes names, Ctrl-C stops, Ctrl-D leaves.
.vars lists the variables, .exit leaves. In functions only parameters and the constants are visible.`;

async function runShell(context: Context, options: ValueFiles): Promise<void> {
  requireToken(context);
  const { world, terminal, settings, client, isJson } = context;
  const evaluator = createEvaluator({
    client,
    clock: world.clock,
    brand: settings.brand,
    cwd: world.environment.cwd,
    values: readValues(world, options),
    print: isJson ? (text) => terminal.printJson({ printed: text }) : terminal.print,
  });
  let failures = 0;
  if (terminal.isInteractive) terminal.note(`Lintel at ${settings.apiBase}. .help for help.`);
  await readInputs({
    world,
    isInteractive: terminal.isInteractive,
    isIncomplete: evaluator.isIncomplete,
    complete: (line) => completeLine(line, evaluator.session, evaluator.constants),
    handle: async (input, signal) => {
      if (input.trim() === '.exit') return false;
      if (!(await answer(context, evaluator, input, signal))) failures += 1;
      return true;
    },
  });
  if (failures > 0 && !terminal.isInteractive)
    throw new CliError(exitCodes.script, `${failures} inputs failed`, { isReported: true });
}

/** False when the input failed. */
async function answer(
  context: Context,
  evaluator: Evaluator,
  input: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { terminal, isJson } = context;
  const command = input.trim();
  try {
    if (command === '.help') terminal.note(help);
    else if (command === '.vars') printVariables(context, evaluator);
    else show(context, await terminal.during('waiting', evaluator.evaluate(input, signal)));
    return true;
  } catch (error) {
    const explained = explainError(error, signal);
    if (explained === null) throw error;
    reportError(terminal, explained, isJson);
    return false;
  }
}

function show({ terminal, isJson }: Context, value: Value): void {
  if (isJson) terminal.printJson({ result: toJson(value) });
  else if (value !== undefined) terminal.print(toDebug(value));
}

function printVariables({ terminal, isJson }: Context, { session }: Evaluator): void {
  const entries = [...session.variables].map(([name, { cell }]) => [name, cell.v] as const);
  if (isJson) {
    const variables = Object.fromEntries(entries.map(([name, value]) => [name, toJson(value)]));
    terminal.printJson({ variables });
  } else {
    for (const [name, value] of entries) terminal.print(`${terminal.style.bold(name)} = ${toDebug(value)}`);
  }
}
