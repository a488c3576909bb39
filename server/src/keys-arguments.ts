import { parseArgs } from 'node:util';
import { isUlid } from './kernel/ulid.ts';
import { StartupError } from './startup-error.ts';

export const keysCommands = ['rotate-kek', 'rotate-dek', 'verify', 'drop-unused'] as const;
export type KeysCommand = (typeof keysCommands)[number];

export interface KeysArguments {
  readonly command: KeysCommand;
  /** Null: every organization. */
  readonly orgId: string | null;
  /** Make a key and put it in front of the key file first. */
  readonly isNew: boolean;
  readonly json: boolean;
  readonly batch: number;
}

export const keysUsage = `Usage: npm run keys -- <command> [options]

  rotate-kek [--new]     wrap every data key under the first key encryption key; --new makes that key first
  rotate-dek [--org ID]  encrypt everything under new data keys, of one organization or of all
  verify                 read every secret and count the data keys of each key encryption key
  drop-unused            take key encryption keys that wrap nothing out of the key file

  --json                 print one line of JSON
  --batch N              rows in one transaction (500)

The service may run meanwhile. A rotation that was interrupted goes on with the next call.
Exit codes: 0 done, 1 failed or something is unreadable, 2 wrong usage.`;

/** Null when help is asked for. */
export function readKeysArguments(argv: readonly string[]): KeysArguments | null {
  const { values, positionals } = parse(argv);
  if (values.help) return null;
  const [command, ...more] = positionals;
  const known = keysCommands.find((name) => name === command);
  if (known === undefined || more.length > 0) throw wrong('Name one command.');
  if (values.org !== undefined && (known !== 'rotate-dek' || !isUlid(values.org)))
    throw wrong('--org takes the id of an organization and belongs to rotate-dek.');
  if (values.new && known !== 'rotate-kek') throw wrong('--new belongs to rotate-kek.');
  const batch = Number(values.batch ?? 500);
  if (!Number.isInteger(batch) || batch < 1 || batch > 10_000) throw wrong('--batch is 1 to 10000.');
  return { command: known, orgId: values.org ?? null, isNew: values.new, json: values.json, batch };
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        org: { type: 'string' },
        new: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        batch: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw wrong(error instanceof Error ? error.message : String(error));
  }
}

const wrong = (message: string): StartupError => new StartupError(`${message}\n\n${keysUsage}`, 2);
