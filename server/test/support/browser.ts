// The service as people start it, and a real browser in front of it.
import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { repositoryRoot } from './architecture-trees.ts';
import { freePort } from './peers/free-port.ts';
import { type StartLine, startService } from './service-process.ts';
import { makeTestDir } from './test-cluster.ts';

/** Of a first run: with its secrets. */
type FirstStartLine = StartLine & { readonly api_key: string; readonly sign_in_url: string };

export interface RunningService {
  readonly printed: FirstStartLine;
  stop(): Promise<void>;
}

/** A first run on an empty data directory, with the embedded database. */
export async function startFirstRun(): Promise<RunningService> {
  buildPages();
  const dataDir = makeTestDir();
  const env = { PORT: String(await freePort()), HOST: '127.0.0.1', LINTEL_DATA_DIR: dataDir };
  const service = await startService(env);
  return {
    printed: service.ready as FirstStartLine,
    stop: async () => {
      await service.end('SIGTERM');
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

function buildPages(): void {
  const code = "(await import('./scripts/install.mjs')).ensureWebBuilt({ quiet: true });";
  execFileSync(process.execPath, ['--input-type=module', '-e', code], { cwd: repositoryRoot });
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
