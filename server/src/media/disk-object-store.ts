import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ulid } from '../kernel/ulid.ts';
import { probe } from './object-probe.ts';
import { type ObjectStore, requireKey } from './object-store.ts';

export function createDiskObjectStore(root: string): ObjectStore {
  const pathOf = (key: string): string => join(root, 'objects', requireKey(key));
  const store: Omit<ObjectStore, 'check'> = {
    put: (key, bytes) => publish(join(root, 'incoming'), pathOf(key), bytes),
    get: async (key) => {
      try {
        return await readFile(pathOf(key));
      } catch (error) {
        if (isAbsent(error)) return null;
        throw error;
      }
    },
    delete: (key) => rm(pathOf(key), { force: true }),
  };
  return { ...store, check: () => probe(store) };
}

/** Written and flushed beside, then renamed: a crash leaves a file nobody looks at, never half an object. */
async function publish(incoming: string, path: string, bytes: Uint8Array): Promise<void> {
  await mkdir(incoming, { recursive: true, mode: 0o700 });
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = join(incoming, ulid());
  try {
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
