import { text as readStream } from 'node:stream/consumers';
import type { Command } from 'commander';
import { removeConfigFile, writeConfigFile } from '../config-file.ts';
import { type Context, clientFor, type GlobalOptions, type Start } from '../context.ts';
import { usageError } from '../exit.ts';
import { readToken, toApiBase } from '../settings.ts';
import { readHidden } from '../terminal/hidden-input.ts';
import { visible } from '../terminal/visible-text.ts';

export function addLoginCommand(program: Command, start: Start): void {
  program
    .command('login')
    .description('store the address of the service and an API key, after trying them')
    .addHelpText(
      'after',
      '\nThe key comes from --token, from standard input with --token -, or is asked for.',
    )
    .action((_options: object, command: Command) =>
      login(start(command), command.optsWithGlobals<GlobalOptions>()),
    );
  program
    .command('logout')
    .description('forget what login stored; the API key stays valid until it is revoked')
    .action((_options: object, command: Command) => logout(start(command)));
}

async function login(context: Context, options: GlobalOptions): Promise<void> {
  const token = await tokenFor(context, options.token);
  const base = readToken(token)?.base;
  if (base === undefined && options.url === undefined)
    throw usageError('That is no API key', 'A key begins with the address of the service.');
  // A key works under the address it was made for, so that one is taken unless another was asked for.
  const apiBase = toApiBase(options.url ?? base ?? context.settings.apiBase);
  const orgId = options.org ?? null;
  const settings = { ...context.settings, apiBase, token, orgId };
  const profile = await clientFor(context.world, settings)('get_me_profile', {});
  writeConfigFile(context.configPath, { url: apiBase, token, orgId });
  const name = Object.values(profile.name)[0] ?? profile.email;
  if (context.isJson)
    return context.terminal.printJson({
      url: apiBase,
      user_id: profile.user_id,
      email: profile.email,
      org_id: profile.org_id,
      expires_at: profile.api_key_expires_at,
    });
  context.terminal.print(`Signed in at ${apiBase} as ${visible(name)} <${visible(profile.email)}>.`);
  context.terminal.note(`Stored in ${context.configPath}.`);
}

async function tokenFor({ world, terminal, settings }: Context, flag: string | undefined): Promise<string> {
  if (flag !== undefined && flag !== '-') return flag;
  if (flag === '-' || world.stdin.isTTY !== true) {
    const text = (await readStream(world.stdin)).trim();
    if (text !== '') return text;
  } else if (terminal.isInteractive) {
    return readHidden(world, `API key for ${settings.apiBase}: `);
  }
  throw usageError('No API key was given', 'Pass it with --token, or with --token - on standard input.');
}

function logout({ configPath, isJson, terminal }: Context): void {
  const wasThere = removeConfigFile(configPath);
  if (isJson) terminal.printJson({ removed: wasThere ? configPath : null });
  else terminal.print(wasThere ? `Removed ${configPath}.` : 'Nobody was logged in.');
}
