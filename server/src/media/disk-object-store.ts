import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ulid } from '../kernel/ulid.ts';
import type { ObjectStore } from './object-store.ts';

const keyPattern = /^[A-Za-z0-9]+(?:[./-][A-Za-z0-9]+)*$/;

export function createDiskObjectStore(root: string): ObjectStore {
  const pathOf = (key: string): string => {
    if (!keyPattern.test(key)) throw new Error('not a key of the object store');
    return join(root, 'objects', key);
  };
  return {
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
