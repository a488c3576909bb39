import pg from 'pg';
import { AppError, type QuotaStanding, quotaExceeded } from '../kernel/app-error.ts';
import { hasStoodStill, systemClock } from '../kernel/clock.ts';
import { isUlid } from '../kernel/ulid.ts';
import { preparedName, type SqlQuery } from './sql.ts';
import { createTurns, type Turns, usualAnswerMs } from './turns.ts';

export interface Queryable {
  query<Row>(query: SqlQuery): Promise<Row[]>;
  /** Null when absent. */
  maybeOne<Row>(query: SqlQuery): Promise<Row | null>;
  one<Row>(query: SqlQuery): Promise<Row>;
  /** How many rows were touched. */
  execute(query: SqlQuery): Promise<number>;
}

/** A transaction. Stores take it first, so that no statement runs outside one by accident. */
export interface Tx extends Queryable {
  readonly transaction: true;
}

export interface Database {
  /** A transaction that sees one organization, or the listed ones: row-level security hides the rest. */
  inOrg<T>(orgIds: string | readonly string[], work: (tx: Tx) => Promise<T>): Promise<T>;
  /** A transaction of the service itself, across organizations. Callers are a closed list, by test. */
  asService<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** One statement in its own transaction, for database functions that set their scope themselves. */
  readonly direct: Queryable;
  connections(): ConnectionCounts;
  /** The last thing that was asked has got no answer in time. */
  isSilent(): boolean;
  close(): Promise<void>;
}

export interface ConnectionCounts {
  readonly idle: number;
  readonly busy: number;
  /** Transactions that wait for a connection. */
  readonly waiting: number;
}

export type DatabaseRole = 'lintel_app' | 'lintel_secrets';

export interface DatabaseOptions {
  readonly url: string;
  readonly maxConnections: number;
  /** lintel_app unless given. */
  readonly role?: DatabaseRole;
  readonly onError: (error: Error) => void;
  /** When nobody at all gets one, it counts as silent. Less than two seconds unless given. */
  readonly answerWithinMs?: number;
}

// Numbers come back as numbers: no bigint column of ours passes 2^53.
const parsers = new Map<number, (text: string) => unknown>([[20, Number]]);
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    parsers.get(oid) ?? pg.types.getTypeParser(oid, format as 'text'),
};

export function createDatabase(options: DatabaseOptions): Database {
  const { maxConnections, answerWithinMs = usualAnswerMs } = options;
  const pool = createPool(options, answerWithinMs);
  const turns = createTurns(maxConnections, systemClock, answerWithinMs);

  async function onConnection<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    await turns.take();
    try {
      return await work(await unlessSilent(turns, () => connect(pool, answerWithinMs)));
    } finally {
      turns.giveBack();
    }
  }

  const transaction = <T>(scope: string, work: (tx: Tx) => Promise<T>): Promise<T> =>
    onConnection(async (client) => {
      const send: Send = (statement) => ask(turns, client, statement);
      try {
        // The scope is '*' or checked ULIDs, so it can stand in the text and save a round trip.
        await send({ text: `begin; set local lintel.org = '${scope}'`, isUrgent: true });
        const result = await work({ ...queryable(send), transaction: true });
        await send({ text: 'commit' });
        client.release();
        return result;
      } catch (error) {
        await rollback(client, error);
        throw error;
      }
    });

  const sendAlone: Send = (statement) =>
    onConnection(async (client) => {
      try {
        const result = await ask(turns, client, statement);
        client.release();
        return result;
      } catch (error) {
        client.release(causeOf(error) instanceof pg.DatabaseError ? undefined : true);
        throw error;
      }
    });

  return {
    inOrg: (orgIds, work) => transaction(scopeOf(orgIds), work),
    asService: (work) => transaction('*', work),
    direct: queryable(sendAlone),
    connections: () => ({
      idle: pool.idleCount,
      busy: pool.totalCount - pool.idleCount,
      waiting: turns.waiting(),
    }),
    isSilent: () => turns.isSilent(),
    close: () => pool.end(),
  };
}

function createPool(options: DatabaseOptions, answerWithinMs: number): pg.Pool {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.maxConnections,
    // The role owns nothing, so that forced row-level security holds for every statement of the service.
    options: `-c role=${options.role ?? 'lintel_app'} -c idle_in_transaction_session_timeout=10000 -c statement_timeout=30000`,
    connectionTimeoutMillis: answerWithinMs,
    // A server that can not be reached any more does not end a statement: without this its caller would wait for ever.
    query_timeout: 31_000,
    types,
  });
  pool.on('error', options.onError);
  // One that breaks during a transaction fails its statement; as an event that nobody hears it would end the process.
  pool.on('connect', (client) => void client.on('error', () => undefined));
  return pool;
}

async function connect(pool: pg.Pool, answerWithinMs: number): Promise<pg.PoolClient> {
  const dueMs = systemClock.monotonicMs() + answerWithinMs;
  try {
    return await pool.connect();
  } catch (error) {
    if (isTimeout(error) && hasStoodStill(dueMs, systemClock.monotonicMs())) return pool.connect();
    throw error;
  }
}

type Statement = pg.QueryConfig & Pick<SqlQuery, 'isUrgent'>;
type Send = (statement: Statement) => Promise<pg.QueryResult>;

/** Takes down when nothing was heard of the database. That an idle connection was at hand is no sign of it. */
async function unlessSilent<T>(turns: Turns, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof pg.DatabaseError) turns.answered();
    else if (isTimeout(error)) turns.unanswered();
    throw translate(error);
  }
}

async function ask(
  turns: Turns,
  client: pg.PoolClient,
  { isUrgent, ...statement }: Statement,
): Promise<pg.QueryResult> {
  const result = await unlessSilent(turns, () => {
    const answer = client.query(statement);
    return isUrgent === true ? turns.inTime(answer) : answer;
  });
  turns.answered();
  return result;
}

function scopeOf(orgIds: string | readonly string[]): string {
  const ids = typeof orgIds === 'string' ? [orgIds] : orgIds;
  if (!ids.every(isUlid)) throw new Error('a transaction needs organization ids');
  return ids.join(',');
}

async function rollback(client: pg.PoolClient, cause: unknown): Promise<void> {
  // Nothing that is asked on this connection now would be answered either.
  if (isTimeout(causeOf(cause))) return client.release(true);
  try {
    await client.query('rollback');
    client.release();
  } catch (error) {
    // The connection is in an unknown state; it must not go back to the pool.
    client.release(error instanceof Error ? error : true);
  }
}

function causeOf(error: unknown): unknown {
  return error instanceof AppError ? error.cause : error;
}

/** Of a statement, or of an attempt to connect. */
function isTimeout(error: unknown): boolean {
  return error instanceof Error && /timeout/i.test(error.message) && !(error instanceof pg.DatabaseError);
}

function queryable(send: Send): Queryable {
  const run = ({ text, values, isUrgent = false }: SqlQuery): Promise<pg.QueryResult> =>
    send({ name: preparedName(text), text, values: [...values], isUrgent });
  const maybeOne = async <Row>(query: SqlQuery) => ((await run(query)).rows[0] as Row | undefined) ?? null;
  return {
    query: async <Row>(query: SqlQuery) => (await run(query)).rows as Row[],
    maybeOne,
    one: async <Row>(query: SqlQuery) => {
      const row = await maybeOne<Row>(query);
      if (row === null) throw new Error('a row was expected');
      return row;
    },
    execute: async (query) => (await run(query)).rowCount ?? 0,
  };
}

const connectionFaults = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
]);

/** Raised by the functions of migrations/0012: the caller's limit, not a fault. */
const quotaRefusal = 'LN002';

/** A database that can not be reached is no fault of the request: 503, and nothing was decided. */
function translate(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof AppError) return error;
  const code = 'code' in error ? String(error.code) : '';
  const gone =
    connectionFaults.has(code) ||
    /^(08|57P0|53)/.test(code) ||
    /timeout|Connection terminated/i.test(error.message);
  if (gone) return new AppError('unavailable', 'the database can not be reached', { cause: error });
  // A deadlock or serialization failure undid the whole transaction.
  if (/^40/.test(code))
    return new AppError('unavailable', 'the change collided with another', { cause: error });
  if (code === quotaRefusal && error instanceof pg.DatabaseError)
    return quotaExceeded(JSON.parse(error.detail ?? '{}') as QuotaStanding, error);
  return error;
}

export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  if (!(error instanceof pg.DatabaseError) || error.code !== '23505') return false;
  return constraint === undefined || error.constraint === constraint;
}
