import { toRfc3339 } from './clock.ts';

export interface Aged {
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly deletedAt: Date | null;
}

export interface Stamps {
  readonly created_at: string;
  readonly updated_at: string;
  readonly deleted_at?: string;
  readonly purge_at?: string;
  readonly hard_delete_at?: string;
}

/** The times of a record as callers are shown them. */
export type StampsOf = (record: Aged) => Stamps;

const dayMs = 86_400_000;

/** A deleted record says when it will be gone for good; null days: not by itself. */
export function createStamps(retentionDays: number | null): StampsOf {
  return ({ createdAt, updatedAt, deletedAt }) => ({
    created_at: toRfc3339(createdAt),
    updated_at: toRfc3339(updatedAt),
    ...(deletedAt === null ? {} : { deleted_at: toRfc3339(deletedAt), ...end(deletedAt, retentionDays) }),
  });
}

function end(deletedAt: Date, days: number | null): Pick<Stamps, 'purge_at' | 'hard_delete_at'> {
  if (days === null) return {};
  const at = toRfc3339(new Date(deletedAt.getTime() + days * dayMs));
  return { purge_at: at, hard_delete_at: at };
}
