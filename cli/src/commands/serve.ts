import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Context, Start } from '../context.ts';
import { CliError, exitCodes, usageError } from '../exit.ts';

interface Options {
  readonly dir?: string;
}

export function addServeCommand(program: Command, start: Start): void {
  program
    .command('serve')
    .argument('[args...]', 'passed on, after --')
    .option(
      '--dir <folder>',
      'the checkout of the repository; otherwise the one around the working directory',
    )
    .description('start the service from a checkout of the repository, as npm start does')
    .action((args: string[], options: Options, command: Command) => serve(start(command), args, options));
}

async function serve(context: Context, args: readonly string[], { dir }: Options): Promise<void> {
  const { world, isJson } = context;
  const { cwd } = world.environment;
  const root = dir === undefined ? findCheckout(cwd) : resolve(cwd, dir);
  const script = join(root ?? cwd, 'scripts', 'start.mjs');
  if (root === null || !existsSync(script))
    throw usageError('There is no checkout of the repository here', 'Name it with --dir.');
  // In our process group: Ctrl-C reaches it directly, other signals of ours are passed on.
  const child = spawn(process.execPath, [script, ...(isJson ? ['--json'] : []), ...args], {
    stdio: 'inherit',
  });
  const stop = () => child.kill('SIGTERM');
  world.signal.addEventListener('abort', stop, { once: true });
  const [code] = (await once(child, 'exit')) as [number | null];
  world.signal.removeEventListener('abort', stop);
  if (code !== 0 && !world.signal.aborted)
    throw new CliError(exitCodes.failure, `The service ended with ${code}`, { isReported: true });
}

/** The nearest folder upwards that can start the service. */
function findCheckout(from: string): string | null {
  if (existsSync(join(from, 'scripts', 'start.mjs')) && existsSync(join(from, 'server', 'src', 'main.ts')))
    return from;
  const above = dirname(from);
  return above === from ? null : findCheckout(above);
}
