import { Command } from 'commander';
import { explainError } from './api/explain-error.ts';
import { addAgentsCommand } from './commands/agents.ts';
import { addAuditCommand } from './commands/audit-tail.ts';
import { addCompletionCommand } from './commands/completion.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addKeysCommand } from './commands/keys.ts';
import { addLoginCommand } from './commands/login.ts';
import { addOpenCommand } from './commands/open.ts';
import { addScriptCommand } from './commands/script-run.ts';
import { addServeCommand } from './commands/serve.ts';
import { addShellCommand } from './commands/shell.ts';
import { createStart, type GlobalOptions, type Start } from './context.ts';
import { exitCodes } from './exit.ts';
import { reportError } from './terminal/report-error.ts';
import { createTerminal } from './terminal/terminal.ts';
import { version } from './version.ts';
import type { World } from './world.ts';

const parts: readonly ((program: Command, start: Start) => void)[] = [
  addLoginCommand,
  addOpenCommand,
  addScriptCommand,
  addShellCommand,
  addKeysCommand,
  addAgentsCommand,
  addAuditCommand,
  addDoctorCommand,
  addServeCommand,
  addCompletionCommand,
];

export function createProgram(world: World): Command {
  const program = new Command('lintel')
    .description('Doors from the command line.')
    .version(version, '-V, --version')
    .option('--json', 'answer in JSON, on standard output')
    .option('--url <url>', 'address of the service (LINTEL_URL)')
    .option('--token <token>', 'API key (LINTEL_TOKEN)')
    .option('--org <id>', 'organization, where the key does not say (LINTEL_ORG)')
    .option('--config <file>', 'where login stores address and key (LINTEL_CONFIG)')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void world.stdout.write(text),
      writeErr: (text) => void world.stderr.write(text),
      getOutHasColors: () => world.environment.wantsColour && world.stdout.isTTY === true,
      getErrHasColors: () => world.environment.wantsColour && world.stderr.isTTY === true,
    })
    .showSuggestionAfterError()
    .exitOverride();
  const start = createStart(world);
  for (const add of parts) add(program, start);
  return program;
}

/** Runs one command to its exit code. What is no known failure is a fault of the command, and thrown. */
export async function runCommand(world: World, args: readonly string[]): Promise<number> {
  const program = createProgram(world);
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCodes.ok;
  } catch (error) {
    const explained = explainError(error, world.signal);
    if (explained === null) throw error;
    // A mistake in the arguments may stand before the flag was read.
    const isJson = program.opts<GlobalOptions>().json === true || args.includes('--json');
    reportError(createTerminal(world, isJson), explained, isJson);
    return explained.exitCode;
  }
}
