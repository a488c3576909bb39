import type { Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ValuePlace, WrappedKey } from './envelope.ts';

/**
 * A step of an ordinary transaction under the role of the secrets, so that a secret, the record it belongs to and the
 * audit event commit together. The login role is a member of both; which rows are seen stays the same.
 */
export async function asSecretsRole<T>(tx: Tx, work: () => Promise<T>): Promise<T> {
  await tx.execute(sql`set local role lintel_secrets`);
  try {
    const result = await work();
    await tx.execute(sql`set local role lintel_app`);
    return result;
  } catch (error) {
    // After a failed statement this fails as well, and the end of the transaction resets the role.
    await tx.execute(sql`set local role lintel_app`).catch(() => undefined);
    throw error;
  }
}

/** One value with the key it is encrypted under: read in one statement, so that a rotation never comes in between. */
export interface SealedValue extends ValuePlace {
  readonly ciphertext: Buffer;
  readonly dataKeyId: string;
  readonly kid: string;
  readonly wrapped: Buffer;
}

const columns = sql`
  v.org_id as "orgId", v.integration_id as "integrationId", v.field, s.version, v.ciphertext,
  v.data_key_id as "dataKeyId", k.kid, k.wrapped`;

const source = sql`
  secrets.secret_values v
  join secrets.integration_secrets s on s.org_id = v.org_id and s.integration_id = v.integration_id
  join secrets.data_keys k on k.org_id = v.org_id and k.id = v.data_key_id`;

export const keyOf = (value: SealedValue): WrappedKey => ({
  orgId: value.orgId,
  id: value.dataKeyId,
  kid: value.kid,
  wrapped: value.wrapped,
});

export function findValues(tx: Tx, orgId: string, integrationId: string): Promise<SealedValue[]> {
  return tx.query<SealedValue>(sql`
    select ${columns} from ${source}
    where v.org_id = ${orgId} and v.integration_id = ${integrationId} order by v.field`);
}

/** A page over everything there is, after the given place. */
export function listValues(
  tx: Tx,
  after: Pick<ValuePlace, 'orgId' | 'integrationId' | 'field'>,
  limit: number,
): Promise<SealedValue[]> {
  return tx.query<SealedValue>(sql`
    select ${columns} from ${source}
    where (v.org_id, v.integration_id, v.field) > (${after.orgId}, ${after.integrationId}, ${after.field})
    order by v.org_id, v.integration_id, v.field limit ${limit}`);
}

/** Values that a rotation still has to take over; in one order, so that two rotations never deadlock. */
export function lockRetiringValues(tx: Tx, orgId: string, limit: number): Promise<SealedValue[]> {
  return tx.query<SealedValue>(sql`
    select ${columns} from ${source} where v.org_id = ${orgId} and k.state = 'retiring'
    order by v.integration_id, v.field limit ${limit} for update of v`);
}

export async function findVersion(tx: Tx, orgId: string, integrationId: string): Promise<number> {
  const found = await tx.maybeOne<{ version: number }>(sql`
    select version from secrets.integration_secrets
    where org_id = ${orgId} and integration_id = ${integrationId}`);
  return found?.version ?? 0;
}

/** Also holds the integration's secrets against every other change until the end of the transaction. */
export async function nextVersion(tx: Tx, orgId: string, integrationId: string): Promise<number> {
  const { version } = await tx.one<{ version: number }>(sql`
    insert into secrets.integration_secrets as s (org_id, integration_id, version)
    values (${orgId}, ${integrationId}, 1)
    on conflict (org_id, integration_id) do update set version = s.version + 1, updated_at = now()
    returning version`);
  return version;
}

export async function insertValue(
  tx: Tx,
  place: ValuePlace,
  dataKeyId: string,
  ciphertext: Buffer,
): Promise<void> {
  await tx.execute(sql`
    insert into secrets.secret_values (org_id, integration_id, field, data_key_id, ciphertext)
    values (${place.orgId}, ${place.integrationId}, ${place.field}, ${dataKeyId}, ${ciphertext})`);
}

export async function updateValue(
  tx: Tx,
  place: ValuePlace,
  dataKeyId: string,
  ciphertext: Buffer,
): Promise<void> {
  await tx.execute(sql`
    update secrets.secret_values set data_key_id = ${dataKeyId}, ciphertext = ${ciphertext}
    where org_id = ${place.orgId} and integration_id = ${place.integrationId} and field = ${place.field}`);
}

export async function overwriteValues(
  tx: Tx,
  orgId: string,
  integrationId: string,
  content: Buffer,
): Promise<void> {
  await tx.execute(sql`
    update secrets.secret_values set ciphertext = ${content}
    where org_id = ${orgId} and integration_id = ${integrationId}`);
}

export async function deleteValues(tx: Tx, orgId: string, integrationId: string): Promise<void> {
  await tx.execute(sql`
    delete from secrets.secret_values where org_id = ${orgId} and integration_id = ${integrationId}`);
}

export async function deleteVersion(tx: Tx, orgId: string, integrationId: string): Promise<void> {
  await tx.execute(sql`
    delete from secrets.integration_secrets where org_id = ${orgId} and integration_id = ${integrationId}`);
}
