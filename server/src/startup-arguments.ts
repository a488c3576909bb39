import { parseArgs } from 'node:util';
import { StartupError } from './startup-error.ts';

export interface Arguments {
  /** One line of JSON when ready instead of the text for people. */
  readonly json: boolean;
  /** A new link for the first administrator. */
  readonly signInLink: boolean;
  readonly help: boolean;
}

export const usage = `Usage: npm start [-- options]

  --json           print one line of JSON when ready
  --sign-in-link   print a new one-time sign-in link for the administrator
  --help           show this

Settings come from the environment; README.md lists them.`;

export function readArguments(argv: readonly string[]): Arguments {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        json: { type: 'boolean', default: false },
        'sign-in-link': { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    return { json: values.json, signInLink: values['sign-in-link'], help: values.help };
  } catch (error) {
    throw new StartupError(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`, 2);
  }
}
