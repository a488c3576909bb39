import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApiError } from '@lintel/contract/common';
import { inject } from 'vitest';
import { type App, type ComposeOptions, compose } from '../../src/compose.ts';
import { readConfig } from '../../src/config.ts';
import { type Clock, systemClock } from '../../src/kernel/clock.ts';
import { createLogger, type Logger } from '../../src/kernel/logger.ts';
import { createResponseCheck, type ResponseCheck } from './response-check.ts';
import { createTestDatabase, type TestDatabase } from './test-database.ts';
import {
  createWorld,
  patientMs,
  rootOrgId,
  testKeyring,
  testPepper,
  testPublicUrl,
  type World,
} from './test-world.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  /** The parsed body; undefined when there is none. */
  readonly body: Record<string, unknown> & Partial<ApiError>;
  readonly text: string;
}

export interface RequestOptions {
  readonly token?: string;
  readonly org?: string;
  readonly body?: unknown;
  /** Sent as it is, in place of a JSON body. */
  readonly payload?: Buffer;
  readonly headers?: Record<string, string>;
}

export interface TestApp {
  readonly app: App;
  readonly db: TestDatabase;
  readonly world: World;
  readonly dataDir: string;
  /** What was answered against the contract. A request and the end of the app fail when there is something. */
  readonly responses: ResponseCheck;
  /** path is relative to /api/v1 */
  request(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    options?: RequestOptions,
  ): Promise<Answer>;
  /** A second node on the same database. */
  secondNode(options?: TestAppOptions): Promise<TestApp>;
  close(): Promise<void>;
}

export interface TestAppOptions {
  readonly env?: Record<string, string>;
  readonly clock?: Clock;
  readonly onHttp?: ComposeOptions['onHttp'];
  readonly wrapHandlers?: ComposeOptions['wrapHandlers'];
  readonly providerDefinitions?: ComposeOptions['providerDefinitions'];
  readonly logger?: Logger;
  /** A clone of the template unless a test brings its own, and drops it. */
  readonly database?: TestDatabase;
  readonly leaseMs?: number;
  readonly wrapEngine?: ComposeOptions['wrapEngine'];
  /** Where the service finds its database, for tests that put something in between, or let it fail. */
  readonly databaseUrl?: (url: string) => string;
}

/** The real application on a database of its own. */
export async function startTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  if (options.database !== undefined) return startNode(options.database, options, false);
  const db = await createTestDatabase(inject('ownerUrl'));
  return startNode(db, options, true);
}

/** On a database that the caller has made, to let it fail. */
export function startTestAppOn(db: TestDatabase, options: TestAppOptions = {}): Promise<TestApp> {
  return startNode(db, { databaseUrl: (url) => url, ...options }, true);
}

async function startNode(db: TestDatabase, options: TestAppOptions, ownsDatabase: boolean): Promise<TestApp> {
  const dataDir = await mkdtemp(join(tmpdir(), 'lintel-app-'));
  const config = readConfig({
    PUBLIC_URL: testPublicUrl,
    LINTEL_DATA_DIR: dataDir,
    DATABASE_CONNECTIONS: '10',
    LOG_LEVEL: 'silent',
    ...options.env,
  });
  const responses = createResponseCheck();
  const app = compose({
    config,
    databaseUrl: options.databaseUrl?.(db.url) ?? db.url,
    ...(options.databaseUrl ? {} : { databaseAnswerMs: patientMs }),
    pepper: testPepper,
    keyring: testKeyring,
    rootOrgId,
    clock: options.clock ?? systemClock,
    logger: options.logger ?? createLogger({ level: config.logLevel }),
    onHttp: (http) => {
      responses.watch(http);
      options.onHttp?.(http);
    },
    ...(options.wrapHandlers ? { wrapHandlers: options.wrapHandlers } : {}),
    ...(options.wrapEngine ? { wrapEngine: options.wrapEngine } : {}),
    ...(options.leaseMs ? { leaseMs: options.leaseMs } : {}),
    ...(options.providerDefinitions ? { providerDefinitions: options.providerDefinitions } : {}),
  });
  await app.start();
  await app.http.ready();
  const node: TestApp = {
    app,
    db,
    dataDir,
    world: createWorld(db),
    responses,
    request: async (method, path, request = {}) => {
      const answer = await send(app, method, path, request);
      responses.assertClean();
      return answer;
    },
    secondNode: (more = {}) => startNode(db, { ...options, ...more }, false),
    close: async () => {
      await app.close();
      await rm(dataDir, { recursive: true, force: true });
      if (ownsDatabase) await db.drop();
      responses.assertClean();
    },
  };
  return node;
}

async function send(
  app: App,
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  options: RequestOptions,
): Promise<Answer> {
  const response = await app.http.inject({
    method,
    url: `/api/v1${path}`,
    headers: {
      ...(options.token ? { authorization: `Bearer ${options.token}` } : {}),
      ...(options.org ? { 'x-org': options.org } : {}),
      ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...(options.body === undefined ? {} : { payload: JSON.stringify(options.body) }),
    ...(options.payload === undefined ? {} : { payload: options.payload }),
  });
  const text = response.body;
  const isJson = String(response.headers['content-type'] ?? '').includes('application/json');
  return {
    status: response.statusCode,
    headers: response.headers,
    text,
    body: isJson && text !== '' ? JSON.parse(text) : undefined,
  };
}
