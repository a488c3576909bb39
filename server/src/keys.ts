// `npm run keys`: looks after the keys of the secrets, beside a running service or without one.
import { type Config, readConfig } from './config.ts';
import { createDatabase } from './db/database.ts';
import { runningPostgresUrl } from './db/embedded-running.ts';
import { type KeysArguments, keysUsage, readKeysArguments } from './keys-arguments.ts';
import { type KeysReport, requireKeyring, runKeysCommand } from './keys-commands.ts';
import { openDatabase } from './startup-database.ts';
import { explainFailure, StartupError } from './startup-error.ts';

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const complain = (text: string): void => void process.stderr.write(`${text}\n`);

process.exitCode = await main();

async function main(): Promise<number> {
  let databaseUrl: string | null = null;
  try {
    const args = readKeysArguments(process.argv.slice(2));
    if (args === null) {
      print(keysUsage);
      return 0;
    }
    const config = readConfig();
    databaseUrl = config.databaseUrl;
    // Before a database is looked for: in a wrong directory it would be made.
    requireKeyring(config);
    const report = await withOwner(config, (url) => run(config, args, url));
    print(args.json ? toJson(report) : toText(report));
    return report.verification.unreadable.length > 0 ? 1 : 0;
  } catch (error) {
    const failure = explainFailure(error, { databaseUrl });
    complain(failure === null ? String(error instanceof Error ? error.stack : error) : failure.message);
    return failure?.exitCode ?? 1;
  }
}

/** The service of this data directory keeps its PostgreSQL for itself, so that a running one is used as it is. */
async function withOwner<T>(config: Config, work: (url: string) => Promise<T>): Promise<T> {
  const running = config.databaseUrl ?? (await runningPostgresUrl(config.dataDir));
  if (running !== null) return work(running);
  const database = await openDatabase(config, {
    log: complain,
    onLost: (reason) => {
      throw new StartupError(`The keys can not be looked after: ${reason}.`);
    },
  });
  try {
    return await work(database.ownerUrl);
  } finally {
    await database.stop();
  }
}

async function run(config: Config, args: KeysArguments, url: string): Promise<KeysReport> {
  const options = { url, maxConnections: 2, onError: () => undefined };
  const db = createDatabase({ ...options, role: 'lintel_secrets' });
  const ordinary = createDatabase({ ...options, maxConnections: 1 });
  try {
    return await runKeysCommand(config, { db, ordinary }, args);
  } finally {
    await db.close();
    await ordinary.close();
  }
}

function toJson({ command, currentKid, counts, verification }: KeysReport): string {
  const { dataKeysByKid, readable, unreadable } = verification;
  return JSON.stringify({
    command,
    ...counts,
    current_kid: currentKid,
    data_keys_by_kid: dataKeysByKid,
    readable,
    unreadable: unreadable.map(({ orgId, integrationId, field }) => ({
      org_id: orgId,
      integration_id: integrationId,
      field,
    })),
  });
}

function toText({ command, currentKid, counts, verification }: KeysReport): string {
  const { dataKeysByKid, readable, unreadable } = verification;
  const done = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
  const kids = Object.entries(dataKeysByKid).map(([kid, count]) => {
    const note = kid === currentKid ? 'in use' : count === 0 ? 'may leave the key file' : 'still needed';
    return `  ${kid}  ${count} data keys  (${note})`;
  });
  const broken = unreadable.map(({ orgId, integrationId, field }) => `  ${orgId} ${integrationId} ${field}`);
  return [
    `${command}: ${done.join(', ') || 'looked at everything'}`,
    'Key encryption keys:',
    ...kids,
    `${readable} secrets are readable, ${unreadable.length} are not.`,
    ...broken,
  ].join('\n');
}
