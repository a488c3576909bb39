import type { Queryable } from '../../db/database.ts';
import { sql } from '../../db/sql.ts';

export interface DatabaseState {
  readonly migrations: readonly number[];
  readonly hasPartitionForTomorrow: boolean;
}

export function readDatabaseState(db: Queryable): Promise<DatabaseState> {
  return db.one<DatabaseState>(sql`
    select array(select version from schema_migrations order by version) as migrations,
      to_regclass('audit_events_' || to_char((now() at time zone 'UTC')::date + 1, 'YYYYMMDD')) is not null
        as "hasPartitionForTomorrow"`);
}
