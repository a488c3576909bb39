import { homedir } from 'node:os';
import { join } from 'node:path';

/** All that the command takes from the environment. */
export interface Environment {
  readonly url: string | null;
  readonly token: string | null;
  readonly orgId: string | null;
  readonly configPath: string;
  readonly historyPath: string;
  readonly wantsColour: boolean;
  readonly cwd: string;
}

type Variables = Readonly<Record<string, string | undefined>>;

export function readEnvironment(variables: Variables = process.env, cwd = process.cwd()): Environment {
  const set = (name: string): string | null => variables[name] || null;
  const home = set('HOME') ?? homedir();
  const configFolder = set('XDG_CONFIG_HOME') ?? join(home, '.config');
  const stateFolder = set('XDG_STATE_HOME') ?? join(home, '.local', 'state');
  return {
    url: set('LINTEL_URL'),
    token: set('LINTEL_TOKEN'),
    orgId: set('LINTEL_ORG'),
    configPath: set('LINTEL_CONFIG') ?? join(configFolder, 'lintel', 'config.json'),
    historyPath: set('LINTEL_HISTORY') ?? join(stateFolder, 'lintel', 'history'),
    wantsColour: set('NO_COLOR') === null && set('TERM') !== 'dumb',
    // `npm run lintel` works in the repository, while paths are meant from where it was typed.
    cwd: variables.npm_lifecycle_event === 'lintel' ? (set('INIT_CWD') ?? cwd) : cwd,
  };
}
