// Starts the service. The only file that acts on the process: it exits, prints and listens to signals.
import { styleText } from 'node:util';
import { compose } from './compose.ts';
import { type Config, readConfig } from './config.ts';
import { migrate } from './db/migrate.ts';
import { prepareInstallation, type ReadyInstallation } from './first-run.ts';
import { systemClock } from './kernel/clock.ts';
import { createLogger } from './kernel/logger.ts';
import { type Arguments, readArguments, usage } from './startup-arguments.ts';
import { openDatabase, requireFreePort, withDatabase } from './startup-database.ts';
import { drain } from './startup-drain.ts';
import { explainFailure } from './startup-error.ts';
import { prepareKeyring } from './startup-kek.ts';
import { reportLine, reportText, type StartReport } from './startup-report.ts';
import { createStopRequests } from './startup-stop.ts';
import { version } from './version.ts';

const DRAIN_MS = 10_000;

const say = (text: string): void => console.error(text);

const stop = createStopRequests({
  clock: systemClock,
  listen: (signal, handler) => process.on(signal, handler),
  leaveAtOnce: () => {
    say('Leaving at once.');
    process.exit(1);
  },
});

process.exit(await main());

async function main(): Promise<number> {
  let databaseUrl: string | null = null;
  try {
    const args = readArguments(process.argv.slice(2));
    if (args.help) console.log(usage);
    if (args.help) return 0;
    const config = readConfig();
    databaseUrl = config.databaseUrl;
    await run(config, args);
    return 0;
  } catch (error) {
    const failure = explainFailure(error, { databaseUrl });
    say(failure === null ? String(error instanceof Error ? error.stack : error) : failure.message);
    return failure?.exitCode ?? 1;
  }
}

async function run(config: Config, args: Arguments): Promise<void> {
  const database = await openDatabase(config, {
    log: say,
    onLost: (reason) => {
      say(`Lintel can not go on: ${reason}.`);
      process.exit(1);
    },
  });
  try {
    await serve(config, args, database.ownerUrl);
  } finally {
    await database.stop();
  }
}

async function serve(config: Config, args: Arguments, databaseUrl: string): Promise<void> {
  await requireFreePort(config.port, config.host);
  await migrate(databaseUrl);
  if (stop.isRequested()) return;
  // Before the first run, which shows its secrets once: a wrong key must be noticed first.
  const keyring = await prepareKeyring(config, databaseUrl);
  const installation = await withDatabase(databaseUrl, (db) =>
    prepareInstallation({
      config,
      db,
      clock: systemClock,
      wantsSignInLink: args.signInLink,
    }),
  );
  const { pepper, rootOrgId } = installation;
  const logger = createLogger({ level: config.logLevel });
  const app = compose({ config, databaseUrl, pepper, keyring, rootOrgId, clock: systemClock, logger });
  try {
    await app.start();
    await app.listen();
    print(args, toReport(config, installation));
    await stop.requested;
    if (!args.json) say('Stopping…');
    await app.leave();
  } finally {
    await drain(app.http.server, app.close, DRAIN_MS);
  }
}

function toReport(config: Config, installation: ReadyInstallation): StartReport {
  const { publicUrl, dataDir, databaseUrl, identityUrl } = config;
  const { adminEmail, apiKey, signInUrl, demo } = installation;
  return {
    version,
    publicUrl,
    dataDir,
    database: databaseUrl === null ? null : new URL(databaseUrl).host,
    orgId: installation.homeOrgId,
    adminEmail,
    apiKey,
    signInUrl,
    hasSignInLinks: identityUrl === null,
    demo,
  };
}

function print(args: Arguments, report: StartReport): void {
  const strong = (text: string) => styleText('bold', text, { stream: process.stdout });
  console.log(args.json ? reportLine(report) : reportText(report, strong));
}
