import { expect, inject, vi } from 'vitest';
import { createNodes, type Nodes } from './cluster-nodes.ts';
import type { LedgerLine } from './ledger-provider.ts';
import { createTestDatabase, type TestDatabase } from './test-database.ts';
import { createWorld, rootAdminId } from './test-world.ts';

/** An organization with doors, each of an integration of its own, and nodes as processes of their own to open them. */
export interface ClusterScene {
  readonly db: TestDatabase;
  readonly nodes: Nodes;
  readonly token: string;
  readonly doors: readonly string[];
  door(index?: number): string;
  /** What the devices got, in the order of their ledger. */
  commands(): LedgerLine[];
  /** The ids of the nodes that hold a lease. */
  holders(): Promise<Set<string | null>>;
  /** Until `count` nodes hold some. */
  shared(count: number): Promise<void>;
  close(): Promise<void>;
}

export async function createClusterScene(leaseMs: number, doorCount = 12): Promise<ClusterScene> {
  const db = await createTestDatabase(inject('ownerUrl'));
  const world = createWorld(db);
  const orgId = await world.org();
  await world.grant(orgId, rootAdminId, 'admin');
  const { token } = await world.key(orgId, rootAdminId);
  const doors: string[] = [];
  for (let index = 0; index < doorCount; index += 1) doors.push((await world.building(orgId)).entityId);
  const nodes = createNodes(db.url, leaseMs);
  const holders = async () => {
    const rows = await db.query<{ node_id: string | null }>('select node_id from connection_leases');
    return new Set(rows.map((row) => row.node_id));
  };
  return {
    db,
    nodes,
    token,
    doors,
    door: (index = 0) => doors[index % doors.length] ?? '',
    commands: () => nodes.ledger().filter(({ event }) => event === 'command'),
    holders,
    shared: (count) =>
      vi.waitFor(async () => expect((await holders()).size).toBe(count), { timeout: 30_000, interval: 100 }),
    close: async () => {
      await nodes.close();
      await db.drop();
    },
  };
}
