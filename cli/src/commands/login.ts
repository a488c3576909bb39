import { text as readStream } from 'node:stream/consumers';
import type { Command } from 'commander';
import { explainError } from '../api/explain-error.ts';
import { isSessionToken, signIn } from '../api/sign-in.ts';
import { readConfigFile, removeConfigFile, writeConfigFile } from '../config-file.ts';
import { type Context, clientFor, type GlobalOptions, type Start } from '../context.ts';
import { usageError } from '../exit.ts';
import { readToken, toApiBase } from '../settings.ts';
import { readHidden } from '../terminal/hidden-input.ts';
import { visible } from '../terminal/visible-text.ts';

interface Options extends GlobalOptions {
  readonly email?: string;
}

export function addLoginCommand(program: Command, start: Start): void {
  program
    .command('login')
    .description('store the address of the service and an API key, after trying them')
    .option('--email <address>', 'sign in with a password instead, which is asked for')
    .addHelpText(
      'after',
      '\nThe key comes from --token, from standard input with --token -, or is asked for.\nWith --email the password is asked for, or comes from standard input.',
    )
    .action((_options: object, command: Command) =>
      login(start(command), command.optsWithGlobals<Options>()),
    );
  program
    .command('logout')
    .description('forget what login stored; a session ends, an API key stays valid until it is revoked')
    .action((_options: object, command: Command) => logout(start(command)));
}

async function login(context: Context, options: Options): Promise<void> {
  const { apiBase, token } =
    options.email === undefined
      ? await loginWithKey(context, options)
      : await loginWithPassword(context, options, options.email);
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

interface Login {
  readonly apiBase: string;
  readonly token: string;
}

async function loginWithKey(context: Context, { url, token: flag }: Options): Promise<Login> {
  const question = `API key for ${context.settings.apiBase}: `;
  const token = flag === undefined || flag === '-' ? (await secretFor(context, question)).trim() : flag;
  if (token === '')
    throw usageError('No API key was given', 'Pass it with --token, or with --token - on standard input.');
  const base = readToken(token)?.base;
  if (base === undefined && url === undefined)
    throw usageError('That is no API key', 'A key begins with the address of the service.');
  // A key works under the address it was made for, so that one is taken unless another was asked for.
  return { apiBase: toApiBase(url ?? base ?? context.settings.apiBase), token };
}

async function loginWithPassword(context: Context, { token }: Options, email: string): Promise<Login> {
  if (token !== undefined) throw usageError('Either --email or --token, not both');
  const { apiBase } = context.settings;
  const password = await secretFor(context, `Password of ${email} at ${apiBase}: `);
  if (password === '') throw usageError('No password was given', 'It may come on standard input.');
  return { apiBase, token: await signIn(context.world, apiBase, { email, password }) };
}

/** Asked for on a terminal, else the standard input without the end of its line. */
async function secretFor({ world, terminal }: Context, question: string): Promise<string> {
  if (world.stdin.isTTY !== true) return (await readStream(world.stdin)).replace(/\r?\n$/, '');
  return terminal.isInteractive ? readHidden(world, question) : '';
}

async function logout(context: Context): Promise<void> {
  const { configPath, isJson, terminal } = context;
  await endSession(context);
  const wasThere = removeConfigFile(configPath);
  if (isJson) terminal.printJson({ removed: wasThere ? configPath : null });
  else terminal.print(wasThere ? `Removed ${configPath}.` : 'Nobody was logged in.');
}

/** The file goes in any case: whoever logs out means this computer first. */
async function endSession({ world, terminal, configPath, settings }: Context): Promise<void> {
  const { url, token } = readConfigFile(configPath);
  if (url === null || token === null || !isSessionToken(token)) return;
  const client = clientFor(world, { ...settings, apiBase: toApiBase(url), token, orgId: null });
  await client('post_auth_logout', {}).catch((error: unknown) => {
    const explained = explainError(error, world.signal);
    if (explained === null) throw error;
    terminal.note(`The session could not be ended at ${url}: ${explained.message}`);
  });
}
