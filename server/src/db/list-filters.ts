import { joinSql, likeContains, type SqlQuery, sql } from './sql.ts';

export interface DeletionOptions {
  readonly includeDeleted: boolean;
  /** Implies includeDeleted. */
  readonly onlyDeleted: boolean;
}

/** Null when every row is wanted. */
export function livenessFilter(deletedAt: SqlQuery, options: DeletionOptions): SqlQuery | null {
  if (options.onlyDeleted) return sql`${deletedAt} is not null`;
  return options.includeDeleted ? null : sql`${deletedAt} is null`;
}

/** Case-insensitive part of a text; null when nothing is searched for. */
export function textFilter(column: SqlQuery, part: string | null): SqlQuery | null {
  return part ? sql`${column} ilike ${likeContains(part.normalize('NFC'))}` : null;
}

/** As textFilter, in any locale of a localized text. */
export function localizedTextFilter(column: SqlQuery, part: string | null): SqlQuery | null {
  const matches = textFilter(sql`t.value`, part);
  return matches && sql`exists (select from jsonb_each_text(${column}) t where ${matches})`;
}

export function everyFilter(first: SqlQuery, ...others: readonly (SqlQuery | null)[]): SqlQuery {
  return joinSql([first, ...others.filter((filter) => filter !== null)], ' and ');
}
