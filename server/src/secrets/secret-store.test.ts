import { inspect } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
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

describe('the secrets store', () => {
  let owner: TestDatabase;
  let world: World;
  let ordinary: Database;
  let privileged: Database;
  let store: SecretStore;
  let orgId: string;
  const kek = generateToken();
  const makeStore = (keyring: Keyring, batch = 500) => createSecretStore({ db: privileged, keyring, batch });

  beforeAll(async () => {
    owner = await createTestDatabase(inject('ownerUrl'));
    world = createWorld(owner);
    const options = { url: owner.url, maxConnections: 4, onError: () => undefined };
    ordinary = createDatabase(options);
    privileged = createDatabase({ ...options, role: 'lintel_secrets' });
    store = makeStore(keyringOf(kek));
    await store.rotateKek();
  });
  beforeEach(async () => {
    orgId = await world.org();
  });
  afterAll(async () => {
    await ordinary.close();
    await privileged.close();
    await owner.drop();
  });

  const integration = async (inOrg = orgId) => (await world.building(inOrg)).integrationId;
  const write = (id: string, values: Record<string, string>, using = store, inOrg = orgId) =>
    ordinary.inOrg(inOrg, (tx) => {
      const secrets = Object.entries(values).map(([field, value]) => [field, new Secret(value)] as const);
      return using.replace(tx, inOrg, id, Object.fromEntries(secrets));
    });
  const reveal = async (id: string, using = store, inOrg = orgId) => {
    const { values } = await using.read(inOrg, id);
    return Object.fromEntries(Object.entries(values).map(([field, secret]) => [field, secret.reveal()]));
  };

  it('gives back what was put in, by field, and shows none of it by accident', async () => {
    const id = await integration();
    await write(id, { user: 'ada', password: 'pässword | with bars' });
    expect(await reveal(id)).toEqual({ user: 'ada', password: 'pässword | with bars' });
    const { values } = await store.read(orgId, id);
    expect(JSON.stringify(values) + inspect(values)).not.toContain('ada');
    const stored = await owner.query<{ row: string }>('select t::text as row from secrets.secret_values t');
    expect(stored.filter(({ row }) => row.includes('ada'))).toEqual([]);
  });

  it('replaces all fields at once, counts versions and never starts over', async () => {
    const id = await integration();
    expect(await store.read(orgId, id)).toEqual({ version: 0, values: {} });
    await write(id, { a: '1', b: '2' });
    await write(id, { b: '3' });
    expect([await reveal(id), (await store.read(orgId, id)).version]).toEqual([{ b: '3' }, 2]);
    await ordinary.inOrg(orgId, (tx) => store.clear(tx, orgId, id));
    expect(await store.read(orgId, id)).toEqual({ version: 3, values: {} });
    await write(id, { c: '4' });
    expect((await store.read(orgId, id)).version).toBe(4);
  });

  it('keeps nothing when the transaction of the integration does not commit', async () => {
    const id = await integration();
    const failing = ordinary.inOrg(orgId, async (tx) => {
      await store.replace(tx, orgId, id, { a: new Secret('1') });
      throw new Error('the rest failed');
    });
    await expect(failing).rejects.toThrow('the rest failed');
    expect(await store.read(orgId, id)).toEqual({ version: 0, values: {} });
  });

  it('overwrites before it deletes when it purges', async () => {
    const id = await integration();
    await write(id, { a: '1', b: '2' });
    await owner.query('create table if not exists secrets.seen (content bytea)');
    await owner.query(`create or replace function secrets.see() returns trigger language plpgsql security definer as
      $$ begin insert into secrets.seen values (old.ciphertext); return old; end $$`);
    await owner.query(
      'create trigger see before delete on secrets.secret_values for each row execute function secrets.see()',
    );
    await ordinary.inOrg(orgId, (tx) => store.purge(tx, orgId, id));
    await owner.query('drop trigger see on secrets.secret_values');
    const seen = await owner.query<{ content: Buffer }>('select content from secrets.seen');
    expect(seen.map(({ content }) => content.toString())).toEqual(['{}', '{}']);
    expect(
      await owner.query('select 1 from secrets.integration_secrets where integration_id = $1', [id]),
    ).toEqual([]);
  });

  describe('refuses ciphertext', () => {
    const unreadable = async (id: string, inOrg = orgId) => {
      await expect(store.read(inOrg, id)).rejects.toThrow(/is not what was written there|unknown format/);
      const { unreadable: found } = await store.verify();
      expect(found.map((place) => place.integrationId)).toContain(id);
    };
    const move = (set: string, from: string, to: string, field = 'a') =>
      owner.query(
        `update secrets.secret_values t set ${set} from secrets.secret_values f
         where f.integration_id = $1 and f.field = 'a' and t.integration_id = $2 and t.field = $3`,
        [from, to, field],
      );
    const content = 'ciphertext = f.ciphertext, data_key_id = f.data_key_id';

    it('of another integration', async () => {
      const [one, two] = [await integration(), await integration()];
      await write(one, { a: '1' });
      await write(two, { a: '2' });
      await move(content, one, two);
      await unreadable(two);
      expect(await reveal(one)).toEqual({ a: '1' });
    });

    it('of another field', async () => {
      const id = await integration();
      await write(id, { a: '1', b: '2' });
      await move(content, id, id, 'b');
      await unreadable(id);
    });

    it('of another organization, also together with its key', async () => {
      const other = await world.org();
      const [mine, theirs] = [await integration(), await integration(other)];
      await write(mine, { a: '1' });
      await write(theirs, { a: '2' }, store, other);
      await move('ciphertext = f.ciphertext', theirs, mine);
      await unreadable(mine);
      await write(mine, { a: '1' });
      await owner.query(
        `update secrets.data_keys m set wrapped = t.wrapped from secrets.data_keys t
         where m.org_id = $1 and t.org_id = $2`,
        [orgId, other],
      );
      await unreadable(mine);
    });

    it('of another version', async () => {
      const id = await integration();
      await write(id, { a: 'old' });
      const [old] = await owner.query<{ ciphertext: Buffer }>(
        'select ciphertext from secrets.secret_values where integration_id = $1',
        [id],
      );
      await write(id, { a: 'new' });
      await owner.query('update secrets.secret_values set ciphertext = $2 where integration_id = $1', [
        id,
        old?.ciphertext,
      ]);
      await unreadable(id);
    });

    it('that is cut short or changed in one bit', async () => {
      const id = await integration();
      await write(id, { a: 'value' });
      const change = (expression: string) =>
        owner.query(`update secrets.secret_values set ciphertext = ${expression} where integration_id = $1`, [
          id,
        ]);
      await change('set_bit(ciphertext, 8 * 15, 1 - get_bit(ciphertext, 8 * 15))');
      await unreadable(id);
      await change('substr(ciphertext, 1, 20)');
      await unreadable(id);
      // Leaves nothing broken behind for the other tests.
      await write(id, { a: 'value' });
      expect(await reveal(id)).toEqual({ a: 'value' });
    });
  });

  it('shows one organization nothing of another', async () => {
    const other = await world.org();
    const theirs = await integration(other);
    await write(theirs, { a: '2' }, store, other);
    expect(await store.read(orgId, theirs)).toEqual({ version: 0, values: {} });
  });

  it('is out of reach for the ordinary role, and the ordinary schema for its own', async () => {
    const tables = await owner.query<{ name: string }>(
      `select c.oid::regclass::text as name from pg_class c where c.relnamespace = 'secrets'::regnamespace and c.relkind = 'r'`,
    );
    expect(tables.length).toBeGreaterThan(3);
    for (const { name } of tables) {
      const [rights] = await owner.query<{ any: boolean; schema: boolean }>(
        `select has_table_privilege('lintel_app', $1, 'select, insert, update, delete, truncate, references, trigger') as any,
           has_schema_privilege('lintel_app', 'secrets', 'usage, create') as schema`,
        [name],
      );
      expect([name, rights]).toEqual([name, { any: false, schema: false }]);
    }
    const denied = expect.objectContaining({ code: '42501' });
    const select = (table: string) => ({ text: `select 1 from ${table}`, values: [] });
    await expect(ordinary.asService((tx) => tx.query(select('secrets.secret_values')))).rejects.toEqual(
      denied,
    );
    await expect(privileged.asService((tx) => tx.query(select('integrations')))).rejects.toEqual(denied);
  });

  it('takes the role for the time of its work only', async () => {
    const id = await integration();
    const role = { text: 'select current_user::text as name', values: [] };
    const names = await ordinary.inOrg(orgId, async (tx) => {
      await store.replace(tx, orgId, id, { a: new Secret('1') });
      const failed = await store.readIn(tx, orgId, id).catch(() => null);
      return [failed?.a?.reveal(), (await tx.one<{ name: string }>(role)).name];
    });
    expect(names).toEqual(['1', 'lintel_app']);
  });

  it('makes one data key for an organization, whoever comes first', async () => {
    const ids = await Promise.all(Array.from({ length: 4 }, () => integration()));
    await Promise.all(ids.map((id) => write(id, { a: id })));
    expect(await Promise.all(ids.map((id) => reveal(id)))).toEqual(ids.map((a) => ({ a })));
    const keys = await owner.query<{ encryptions: string }>(
      'select encryptions from secrets.data_keys where org_id = $1',
      [orgId],
    );
    expect(keys).toEqual([{ encryptions: '4' }]);
  });

  it('loses its data key with the organization', async () => {
    const id = await integration();
    await write(id, { a: '1' });
    await ordinary.inOrg(orgId, (tx) => store.purge(tx, orgId, id));
    for (const table of ['entities', 'devices', 'zones', 'integrations', 'orgs'])
      await owner.query(`delete from ${table} where ${table === 'orgs' ? 'id' : 'org_id'} = $1`, [orgId]);
    expect(await owner.query('select 1 from secrets.data_keys where org_id = $1', [orgId])).toEqual([]);
  });

  it('refuses a keyring that is none', () => {
    for (const text of ['', ' , ', 'short', `${generateToken()}x`, `${generateToken()},?`])
      expect(parseKeyring(new Secret(text)), text).toBeNull();
    const [a, b] = [generateToken(), generateToken()];
    const one = keyringOf(a, b);
    expect([one.keys.size, one.currentKid]).toEqual([2, keyringOf(a).currentKid]);
    expect(parseKeyring(new Secret(`${a}\n${b}\n`))?.keys.size).toBe(2);
    expect(keyringOf(b).currentKid).not.toBe(one.currentKid);
    expect(inspect(one, { depth: 9 })).not.toContain(a);
  });
});
