import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/support/test-database.ts';
import { createWorld, type World } from '../../test/support/test-world.ts';
import { createDatabase, type Database } from '../db/database.ts';
import { generateToken, Secret } from '../kernel/secret.ts';
import { type Keyring, parseKeyring } from './keyring.ts';
import { createSecretStore, type SecretStore } from './secret-store.ts';

function keyringOf(...keys: string[]): Keyring {
  const keyring = parseKeyring(new Secret(keys.join(',')));
  if (keyring === null) throw new Error('not a keyring');
  return keyring;
}

/** Ends after so many transactions, as a process that is killed does. */
function dying(db: Database, transactions: number): Database {
  let left = transactions;
  const live = <T>(work: () => Promise<T>): Promise<T> => {
    left -= 1;
    return left < 0 ? Promise.reject(new Error('killed')) : work();
  };
  return {
    ...db,
    inOrg: (orgIds, work) => live(() => db.inOrg(orgIds, work)),
    asService: (work) => live(() => db.asService(work)),
  };
}

describe('keys of the secrets store', () => {
  let owner: TestDatabase;
  let world: World;
  let ordinary: Database;
  let privileged: Database;
  const oldKek = generateToken();
  const newKek = generateToken();
  const old = keyringOf(oldKek);
  const both = keyringOf(newKek, oldKek);
  const orgs = new Map<string, string[]>();

  const storeWith = (keyring: Keyring, db = privileged): SecretStore =>
    createSecretStore({ db, keyring, batch: 2 });
  const write = (store: SecretStore, orgId: string, id: string, value: string) =>
    ordinary.inOrg(orgId, (tx) => store.replace(tx, orgId, id, { token: new Secret(value) }));
  const places = () => [...orgs].flatMap(([orgId, ids]) => ids.map((id) => [orgId, id] as const));
  const readAll = async (store: SecretStore) => {
    for (const [orgId, id] of places()) {
      const { values } = await store.read(orgId, id);
      expect(values.token?.reveal()).toBe(`secret of ${id}`);
    }
  };
  const keysOf = async (orgId: string) =>
    (
      await owner.query<{ id: string; state: string }>(
        'select id, state from secrets.data_keys where org_id = $1 order by state, id',
        [orgId],
      )
    ).map(({ state }) => state);

  beforeAll(async () => {
    owner = await createTestDatabase(inject('ownerUrl'));
    world = createWorld(owner);
    const options = { url: owner.url, maxConnections: 4, onError: () => undefined };
    ordinary = createDatabase(options);
    privileged = createDatabase({ ...options, role: 'lintel_secrets' });
    const store = storeWith(old);
    await store.rotateKek();
    for (let org = 0; org < 5; org += 1) {
      const orgId = await world.org();
      const ids: string[] = [];
      for (let each = 0; each < 5; each += 1) ids.push((await world.building(orgId)).integrationId);
      for (const id of ids) await write(store, orgId, id, `secret of ${id}`);
      orgs.set(orgId, ids);
    }
  });
  afterAll(async () => {
    await ordinary.close();
    await privileged.close();
    await owner.drop();
  });

  /** Reads everything over and over until the work is done; a read that fails fails the test. */
  async function whileReading<T>(readers: readonly SecretStore[], work: () => Promise<T>): Promise<T> {
    let isDone = false;
    let rounds = 0;
    const reading = readers.map(async (reader) => {
      while (!isDone || rounds < 2) {
        await readAll(reader);
        rounds += 1;
      }
    });
    const result = await work().finally(() => {
      isDone = true;
    });
    await Promise.all(reading);
    return result;
  }

  it('are rotated at the top while everybody reads; killed in the middle, the next call goes on', async () => {
    const reader = storeWith(both);
    await whileReading([reader, storeWith(both)], async () => {
      // Its first transaction puts the new key on record, the second wraps two data keys.
      await expect(storeWith(both, dying(privileged, 2)).rotateKek()).rejects.toThrow('killed');
      const half = await reader.verify();
      expect(half.dataKeysByKid).toEqual({ [both.currentKid]: 2, [old.currentKid]: 3 });
      expect(await reader.rotateKek()).toEqual({ rewrapped: 3 });
    });
    expect(await reader.verify()).toEqual({
      dataKeysByKid: { [both.currentKid]: 5, [old.currentKid]: 0 },
      readable: 25,
      unreadable: [],
    });
    // So the old key can go.
    await readAll(storeWith(keyringOf(newKek)));
    await expect(storeWith(old).read(...(places()[0] ?? ['', '']))).rejects.toThrow('is not in the keyring');
  });

  it('are rotated below while everybody reads and writes; killed in the middle, the next call goes on', async () => {
    const store = storeWith(both);
    const [orgId = '', ids = []] = [...orgs][0] ?? [];
    const [busy = ''] = ids;
    const ciphertexts = () =>
      owner.query<{ integration_id: string; ciphertext: Buffer }>(
        'select integration_id, ciphertext from secrets.secret_values where org_id = $1 order by 1',
        [orgId],
      );
    const before = await ciphertexts();
    await whileReading([store], async () => {
      // One transaction retires the key, the next takes two values over.
      await expect(storeWith(both, dying(privileged, 2)).rotateDek(orgId)).rejects.toThrow('killed');
      expect(await keysOf(orgId)).toEqual(['active', 'retiring']);
      await write(store, orgId, busy, `secret of ${busy}`);
      const { reencrypted } = await store.rotateDek(orgId);
      expect(reencrypted).toBeGreaterThanOrEqual(2);
      expect(reencrypted).toBeLessThanOrEqual(3);
    });
    expect(await keysOf(orgId)).toEqual(['active']);
    const after = await ciphertexts();
    expect(after.map((row) => row.integration_id)).toEqual(before.map((row) => row.integration_id));
    expect(
      after.filter((row, index) => row.ciphertext.equals(before[index]?.ciphertext ?? row.ciphertext)),
    ).toEqual([]);
    expect((await store.verify()).unreadable).toEqual([]);
  });

  it('of an organization can be rotated by several at once, among writers, and nothing is lost', async () => {
    const store = storeWith(both);
    const [orgId = '', ids = []] = [...orgs][1] ?? [];
    const writing = ids.map(async (id) => {
      for (let round = 0; round < 5; round += 1) await write(store, orgId, id, `secret of ${id}`);
    });
    const rotating = Array.from({ length: 3 }, () => store.rotateDek(orgId));
    await Promise.all([...writing, ...rotating]);
    await readAll(store);
    await store.rotateDek(orgId);
    expect(await keysOf(orgId)).toEqual(['active']);
    await readAll(store);
  });

  it('are left alone where an organization has none', async () => {
    const orgId = await world.org();
    expect(await storeWith(both).rotateDek(orgId)).toEqual({ reencrypted: 0 });
    expect(await keysOf(orgId)).toEqual([]);
  });
});
