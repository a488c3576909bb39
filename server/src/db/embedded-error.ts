/** Why the built-in PostgreSQL cannot serve. The message is written for the operator: print it as it is, without a stack. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
}

const OWN_DATABASE = `use your own PostgreSQL (15 or newer):
      DATABASE_URL=postgresql://user:password@host:5432/lintel npm start`;

/** For faults of the place: another directory would do. */
export function cannotRunHere(fault: string): EmbeddedPostgresError {
  const elsewhere = process.getuid?.() === 0 ? '/var/lib/lintel' : '~/lintel-data';
  return new EmbeddedPostgresError(`Lintel's built-in PostgreSQL cannot run here.
${fault}

Either of these solves it:
  - keep the data where the database's user can reach it:
      LINTEL_DATA_DIR=${elsewhere} npm start
  - ${OWN_DATABASE}`);
}

/** For faults of the machine: no directory would help. */
export function cannotRunAtAll(fault: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(`Lintel's built-in PostgreSQL cannot run on this machine.
${fault}

What to do: ${OWN_DATABASE}`);
}
