import { type ApiClient, createClient } from '@lintel/contract/client';
import type { Command } from 'commander';
import { readConfigFile } from './config-file.ts';
import { parseExact } from './exact-json.ts';
import { CliError, exitCodes } from './exit.ts';
import { resolveSettings, type Settings, type Wishes } from './settings.ts';
import { createTerminal, type Terminal } from './terminal/terminal.ts';
import type { World } from './world.ts';

/** What a command works with. */
export interface Context {
  readonly world: World;
  readonly terminal: Terminal;
  readonly isJson: boolean;
  readonly configPath: string;
  readonly settings: Settings;
  readonly client: ApiClient;
}

export interface GlobalOptions {
  readonly json?: boolean;
  readonly url?: string;
  readonly token?: string;
  readonly org?: string;
  readonly config?: string;
}

export type Start = (command: Command) => Context;

export const createStart =
  (world: World): Start =>
  (command) => {
    const options = command.optsWithGlobals<GlobalOptions>();
    const isJson = options.json === true;
    const configPath = options.config ?? world.environment.configPath;
    const flags: Wishes = {
      url: options.url ?? null,
      token: options.token ?? null,
      orgId: options.org ?? null,
    };
    const settings = resolveSettings(flags, world.environment, readConfigFile(configPath));
    const client = clientFor(world, settings);
    return { world, terminal: createTerminal(world, isJson), isJson, configPath, settings, client };
  };

export function clientFor({ fetch, signal }: World, { apiBase, token, orgId }: Settings): ApiClient {
  const call = createClient({
    baseUrl: apiBase,
    ...(token === null ? {} : { token }),
    ...(orgId === null ? {} : { orgId }),
    fetch,
    parse: parseExact,
  });
  return (id, input) => call(id, { ...input, signal: input.signal ?? signal });
}

export function requireToken({ settings }: Context): void {
  if (settings.token === null)
    throw new CliError(exitCodes.unauthorized, 'There is no API key to call the service with', {
      hint: 'Run lintel login, or set LINTEL_TOKEN.',
    });
}
