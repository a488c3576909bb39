import type { Database } from '../../db/database.ts';
import { AppError } from '../../kernel/app-error.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type DatabaseState, readDatabaseState } from './readiness.store.ts';

export interface ReadinessDeps {
  readonly db: Pick<Database, 'direct'>;
  readonly clock: Clock;
  /** The migrations this build was written for. */
  readonly migrationVersions: () => Promise<readonly number[]>;
}

export interface Readiness {
  /** Why this node should get no requests now; empty when it should. */
  problems(): Promise<string[]>;
}

const REUSE_MS = 1000;

/** Anyone may ask, so that asking often must not cost the database anything: one look a second, shared by all. */
export function createReadiness(deps: ReadinessDeps): Readiness {
  let last: { at: number; problems: Promise<string[]> } | null = null;
  return {
    problems() {
      const now = deps.clock.monotonicMs();
      if (last === null || now - last.at >= REUSE_MS) last = { at: now, problems: findProblems(deps) };
      return last.problems;
    },
  };
}

async function findProblems({ db, migrationVersions }: ReadinessDeps): Promise<string[]> {
  try {
    return judge(await readDatabaseState(db.direct), await migrationVersions());
  } catch (error) {
    if (error instanceof AppError) return [error.message];
    return ['the database does not answer as it should'];
  }
}

/** A database ahead of this build is fine: that is a rolling update, and migrations only go forward. */
function judge(state: DatabaseState, wanted: readonly number[]): string[] {
  const missing = wanted.filter((version) => !state.migrations.includes(version));
  return [
    ...missing.map((version) => `migration ${version} has not run`),
    ...(state.hasPartitionForTomorrow ? [] : ['there is no audit partition for tomorrow']),
  ];
}
