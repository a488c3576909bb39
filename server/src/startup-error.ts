import { ConfigError } from './config.ts';
import { EmbeddedPostgresError } from './db/embedded-error.ts';
import { MigrationError } from './db/migrate.ts';
import { AppError } from './kernel/app-error.ts';

/** Why the service does not start, written for the operator. */
export class StartupError extends Error {
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

export interface Failure {
  readonly message: string;
  readonly exitCode: number;
}

export interface FailureContext {
  /** Of the operator's own database; null for the embedded one. */
  readonly databaseUrl: string | null;
}

/** One readable message for everything an operator can mend; null for a fault of our own, whose stack is wanted. */
export function explainFailure(error: unknown, { databaseUrl }: FailureContext): Failure | null {
  if (error instanceof StartupError) return { message: error.message, exitCode: error.exitCode };
  if (error instanceof ConfigError) return { message: error.message, exitCode: 2 };
  if (error instanceof EmbeddedPostgresError) return { message: error.message, exitCode: 1 };
  const message =
    portFailure(error) ??
    fileFailure(error) ??
    (databaseUrl === null ? null : databaseFailure(error, databaseUrl)) ??
    (error instanceof MigrationError
      ? `The database can not be brought up to date: ${error.message}.`
      : null);
  return message === null ? null : { message, exitCode: 1 };
}

function portFailure(error: unknown): string | null {
  if (!(error instanceof Error) || !('port' in error) || !('syscall' in error)) return null;
  if (error.syscall !== 'listen') return null;
  const port = String(error.port);
  switch (codeOf(error)) {
    case 'EADDRINUSE':
      return `Port ${port} is taken by another program. Choose another one: PORT=${Number(port) + 1} npm start`;
    case 'EACCES':
      return `This user may not listen on port ${port}. Choose one above 1023: PORT=8080 npm start`;
    case 'EADDRNOTAVAIL':
      return 'This machine has no such address. HOST names the address to listen on: HOST=0.0.0.0 npm start';
    default:
      return null;
  }
}

function fileFailure(error: unknown): string | null {
  if (!(error instanceof Error) || !('path' in error) || !/^(EACCES|EPERM|EROFS|ENOSPC)$/.test(codeOf(error)))
    return null;
  return `${String(error.path)} can not be written (${codeOf(error)}). LINTEL_DATA_DIR names the directory for data.`;
}

/** In the words of the setting that has to change. The password of the address is never shown. */
function databaseFailure(error: unknown, databaseUrl: string): string | null {
  const { place, user, name } = partsOf(databaseUrl);
  const cause = error instanceof MigrationError || error instanceof AppError ? error.cause : error;
  switch (codeOf(cause)) {
    case 'ECONNREFUSED':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'ETIMEDOUT':
      return `No PostgreSQL answers at ${place}. Check DATABASE_URL.`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The host of DATABASE_URL, ${place}, can not be found.`;
    case '28P01':
    case '28000':
      return `PostgreSQL at ${place} does not let ${user} in. Check the user and password in DATABASE_URL.`;
    case '3D000':
      return `PostgreSQL at ${place} has no database ${name}. Create it first: createdb -O ${user} ${name}`;
    case '42501':
      return permissionAdvice(user, name, messageOf(cause));
    default:
      if (/timeout|terminated/i.test(messageOf(cause)))
        return `No PostgreSQL answers at ${place}. Check DATABASE_URL.`;
      return null;
  }
}

function permissionAdvice(user: string, name: string, complaint: string): string {
  return `The database user ${user} may not set Lintel up (${complaint}).
Let an administrator of the database run this once:
  CREATE ROLE lintel_app NOLOGIN;
  CREATE ROLE lintel_secrets NOLOGIN;
  GRANT lintel_app, lintel_secrets TO "${user}";
  ALTER DATABASE "${name}" OWNER TO "${user}";`;
}

function partsOf(databaseUrl: string): { place: string; user: string; name: string } {
  const url = new URL(databaseUrl);
  const user = decodeURIComponent(url.username) || 'the current user';
  const name = decodeURIComponent(url.pathname.slice(1)) || user;
  return { place: `${url.hostname || 'localhost'}:${url.port || '5432'}`, user, name };
}

function codeOf(error: unknown): string {
  // A host with several addresses fails once for each; they are the same to the operator.
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  return first instanceof Error && 'code' in first ? String(first.code) : '';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : '';
}
