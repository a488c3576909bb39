// The service as people start it, and a real browser in front of it.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { repositoryRoot } from './architecture-trees.ts';

/** What `npm start -- --json` prints. */
export interface PrintedStart {
  readonly url: string;
  readonly api_base: string;
  readonly api_key: string;
  readonly org_id: string;
  readonly admin: { readonly email: string };
  readonly sign_in_url: string;
  readonly demo: Readonly<Record<string, string>>;
}

export interface RunningService {
  readonly printed: PrintedStart;
  stop(): Promise<void>;
}

/** A first run on an empty data directory, with the embedded database. */
export async function startService(): Promise<RunningService> {
  buildPages();
  const dataDir = await mkdtemp(join(tmpdir(), 'lintel-browser-'));
  // As root the database runs as another user, who must be able to enter.
  await chmod(dataDir, 0o755);
  const port = String(await freePort());
  const child = spawn(process.execPath, [join(repositoryRoot, 'server/src/main.ts'), '--json'], {
    env: { ...process.env, PORT: port, HOST: '127.0.0.1', LINTEL_DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const stop = async () => {
    await end(child);
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    return { printed: JSON.parse(await firstLine(child)) as PrintedStart, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function buildPages(): void {
  const code = "(await import('./scripts/install.mjs')).ensureWebBuilt({ quiet: true });";
  execFileSync(process.execPath, ['--input-type=module', '-e', code], { cwd: repositoryRoot });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error('the service has no output');
  for await (const line of createInterface({ input: stdout })) return line;
  throw new Error('the service ended before it was ready; see above');
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: findBrowser(),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

function findBrowser(): string {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
  if (found === undefined) throw new Error(`install a browser: none of ${names.join(', ')} is in PATH`);
  return found;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface WatchedPage {
  readonly page: Page;
  /** What the browser complained about since the last call: script errors, breaches of the content policy, failed loads. */
  complaints(): string[];
}

/** A page in a browser profile of its own. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const heard: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') heard.push(message.text());
  });
  page.on('pageerror', (error) => heard.push(`uncaught: ${error.message}`));
  return { page, complaints: () => heard.splice(0) };
}
