import type { Queryable, Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';

export interface OneTimeCode {
  readonly identityId: string | null;
  readonly email: string | null;
  readonly userId: string | null;
}

export type CodePurpose = 'sign_in' | 'registration';

const columns = sql`c.identity_id as "identityId", c.email, c.user_id as "userId"`;

export async function insertCode(
  tx: Tx,
  codeHash: Buffer,
  purpose: CodePurpose,
  code: OneTimeCode,
  lifetimeSeconds: number,
): Promise<void> {
  await tx.execute(sql`
    insert into identity.one_time_codes (code_hash, purpose, identity_id, email, user_id, expires_at)
    values (${codeHash}, ${purpose}, ${code.identityId}, ${code.email}, ${code.userId},
      now() + make_interval(secs => ${lifetimeSeconds}))`);
}

export function findCode(db: Queryable, codeHash: Buffer, purpose: CodePurpose): Promise<OneTimeCode | null> {
  return db.maybeOne<OneTimeCode>(sql`
    select ${columns} from identity.one_time_codes c
    where c.code_hash = ${codeHash} and c.purpose = ${purpose} and c.used_at is null and c.expires_at > now()`);
}

/** Null when it is unknown, expired or used: of two at once one wins. */
export function consumeCode(tx: Tx, codeHash: Buffer, purpose: CodePurpose): Promise<OneTimeCode | null> {
  return tx.maybeOne<OneTimeCode>(sql`
    update identity.one_time_codes c set used_at = now()
    where c.code_hash = ${codeHash} and c.purpose = ${purpose} and c.used_at is null and c.expires_at > now()
    returning ${columns}`);
}
