import { startTestApp, type TestApp, type TestAppOptions } from '../support/test-app.ts';
import { rootAdminId } from '../support/test-world.ts';
import { type Answer, type Callers, createCallers } from './callers.ts';
import type { Door } from './door.ts';
import { readEvents, readIntents, violationsOf } from './oracle.ts';

/** An organization whose doors are relays of DOOR, and callers who open them through one node. */
export interface Scene {
  readonly orgId: string;
  readonly token: string;
  readonly doors: readonly string[];
  readonly callers: Callers;
  open(entityId: string, key: string, body?: object): Promise<Answer>;
  /** How many commands its doors got. */
  commands(): number;
  violations(): Promise<string[]>;
  /** Nothing is left without an outcome. */
  isSettled(): Promise<boolean>;
}

export async function createScene(
  node: TestApp,
  door: Door,
  addDoors: (orgId: string) => Promise<string[]>,
  restMs = 0,
): Promise<Scene> {
  const orgId = await node.world.org();
  await node.world.grant(orgId, rootAdminId, 'admin');
  const { token } = await node.world.key(orgId, rootAdminId);
  const doors = await addDoors(orgId);
  const own = new Set(doors);
  const open: Scene['open'] = async (entityId, key, body = {}) => {
    const headers = { 'idempotency-key': key };
    const answer = await node.request('POST', `/entities/${entityId}/actions/open`, { token, body, headers });
    return { status: answer.status, body: answer.body as Answer['body'] };
  };
  const callers = createCallers(open, doors, restMs);
  const commands = () => door.commands().filter(({ entityId, word }) => own.has(entityId) && word !== 'OFF');
  return {
    orgId,
    token,
    doors,
    callers,
    open,
    commands: () => commands().length,
    violations: async () =>
      violationsOf({
        commands: commands(),
        intents: await readIntents(node.db, orgId),
        events: await readEvents(node.db, orgId),
        wishes: callers.wishes,
      }),
    isSettled: async () => (await readIntents(node.db, orgId)).every(({ state }) => state !== 'dispatching'),
  };
}

/** A node that is there for `work` only. */
export async function withNode<T>(
  start: (options: TestAppOptions) => Promise<TestApp>,
  options: TestAppOptions,
  work: (node: TestApp) => Promise<T>,
): Promise<T> {
  const node = await start(options);
  try {
    return await work(node);
  } finally {
    await node.close();
  }
}

export const startAlone = (options: TestAppOptions): Promise<TestApp> => startTestApp(options);
