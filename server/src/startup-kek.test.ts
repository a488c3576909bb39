import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../test/support/test-database.ts';
import { generateToken, Secret } from './kernel/secret.ts';
import { prepareKeyring } from './startup-kek.ts';

let database: TestDatabase;
const dirs: string[] = [];
const newDataDir = () => {
  const dir = mkdtempSync(join(tmpdir(), 'lintel-kek-'));
  dirs.push(dir);
  return dir;
};
beforeAll(async () => {
  database = await createTestDatabase(inject('ownerUrl'));
});
afterAll(async () => {
  await database.drop();
  for (const dir of dirs) rmSync(dir, { recursive: true });
});

it('makes one key for an installation, for its owner’s eyes only, and refuses nodes with another or none', async () => {
  const dataDir = newDataDir();
  const prepare = (kek: string | null, dir = dataDir) =>
    prepareKeyring({ kek: kek === null ? null : new Secret(kek), dataDir: dir }, database.url);

  const first = await prepare(null);
  const file = join(dataDir, 'keys', 'kek');
  const key = readFileSync(file, 'utf8').trim();
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect((await prepare(null)).currentKid).toBe(first.currentKid);
  expect((await prepare(key, newDataDir())).currentKid).toBe(first.currentKid);

  await expect(prepare(null, newDataDir())).rejects.toThrow('lacks its key encryption key');
  await expect(prepare(generateToken(), newDataDir())).rejects.toThrow('lacks a key encryption key');
  await expect(prepare('not a key')).rejects.toThrow('LINTEL_KEK must be');

  // A new key may come in front of the one in use; alone it may stay when nothing is locked with the old one.
  const next = generateToken();
  const rotated = await prepare(`${next},${key}`);
  expect([rotated.keys.size, rotated.currentKid === first.currentKid]).toEqual([2, false]);
  expect((await prepare(next)).currentKid).toBe(rotated.currentKid);

  writeFileSync(file, 'half');
  await expect(prepare(null)).rejects.toThrow('is damaged');
});
