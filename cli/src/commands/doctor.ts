import type { Command } from 'commander';
import type { Context, Start } from '../context.ts';
import { CliError, exitCodes } from '../exit.ts';
import { visible } from '../terminal/visible-text.ts';
import { type Check, runChecks } from './doctor-checks.ts';

export function addDoctorCommand(program: Command, start: Start): void {
  program
    .command('doctor')
    .description('look whether everything is in place: address, versions, clock, health, key')
    .action((_options: object, command: Command) => diagnose(start(command)));
}

async function diagnose(context: Context): Promise<void> {
  const { terminal, isJson } = context;
  const checks = await terminal.during('looking', runChecks(context));
  const failure = checks.find(({ state }) => state === 'failed');
  if (isJson) {
    const reported = checks.map(({ name, state, message }) => ({ name, state, message }));
    terminal.printJson({ ok: failure === undefined, checks: reported });
  } else {
    for (const check of checks) terminal.print(lineOf(check, context));
  }
  if (failure !== undefined)
    throw new CliError(failure.exitCode ?? exitCodes.failure, failure.message, { isReported: true });
}

function lineOf({ name, state, message }: Check, { terminal: { style } }: Context): string {
  const marks = { ok: style.green('✓'), warning: style.yellow('!'), failed: style.red('✗') };
  return `${marks[state]} ${name.padEnd(9)} ${visible(message)}`;
}
