import type { Tx } from '../../db/database.ts';
import { sql } from '../../db/sql.ts';

export interface Profile {
  readonly name: Record<string, string>;
  readonly email: string;
  readonly locale: string | null;
}

const columns = sql`u.name, u.email, u.locale`;

export function findProfile(tx: Tx, userId: string): Promise<Profile | null> {
  return tx.maybeOne<Profile>(sql`
    select ${columns} from users u where u.id = ${userId} and u.deleted_at is null`);
}

/** Undefined leaves a field as it is, null clears it. */
export function updateProfile(
  tx: Tx,
  userId: string,
  { name, locale }: { name: Record<string, string> | undefined; locale: string | null | undefined },
): Promise<Profile | null> {
  return tx.maybeOne<Profile>(sql`
    update users u set name = coalesce(${name === undefined ? null : JSON.stringify(name)}::jsonb, u.name),
      locale = case when ${locale !== undefined} then ${locale ?? null} else u.locale end, updated_at = now()
    where u.id = ${userId} and u.deleted_at is null returning ${columns}`);
}
