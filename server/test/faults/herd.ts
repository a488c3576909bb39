import { ulid } from '../../src/kernel/ulid.ts';
import type { TestApp } from '../support/test-app.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { rootAdminId } from '../support/test-world.ts';

/** An integration with a connection of its own, and the one entity behind it. */
export interface HerdLink {
  readonly orgId: string;
  readonly entityId: string;
  readonly clientId: string;
  readonly commandTopic: string;
  readonly stateTopic: string;
}

export interface HerdOrg {
  readonly orgId: string;
  readonly token: string;
  readonly links: readonly HerdLink[];
  /** A door that has nothing to do with the broker. */
  readonly healthyDoor: string;
}

export const isHerdCommand = /^herd\/\d+\/\d+\/set$/;

/** Organizations whose links all go to one broker. */
export async function addHerd(
  node: TestApp,
  orgCount: number,
  linkCount: number,
  port: number,
): Promise<HerdOrg[]> {
  const orgs: HerdOrg[] = [];
  for (let number = 0; number < orgCount; number += 1) {
    const orgId = await node.world.org();
    await node.world.grant(orgId, rootAdminId, 'admin');
    const { token } = await node.world.key(orgId, rootAdminId);
    const { entityId: healthyDoor } = await node.world.building(orgId);
    const links = await addLinks(node.db, orgId, number, linkCount / orgCount, port);
    orgs.push({ orgId, token, links, healthyDoor });
  }
  return orgs;
}

async function addLinks(
  db: TestDatabase,
  orgId: string,
  orgNumber: number,
  count: number,
  port: number,
): Promise<HerdLink[]> {
  const links = Array.from({ length: count }, (_, number) => ({
    orgId,
    entityId: ulid(),
    clientId: `herd-${orgNumber}-${number}`,
    commandTopic: `herd/${orgNumber}/${number}/set`,
    stateTopic: `herd/${orgNumber}/${number}/state`,
  }));
  const rows = links.map(({ entityId, clientId, commandTopic, stateTopic }) => ({
    integration: ulid(),
    device: ulid(),
    entity: entityId,
    config: { broker_host: '127.0.0.1', broker_port: port, client_id: clientId },
    metadata: { command_topic: commandTopic, state_topic: stateTopic },
  }));
  const inserts = [
    `integrations (org_id, id, provider_type, name, config)
     select $1, r->>'integration', 'mqtt', '{"en":"Link"}', r->'config'`,
    `devices (org_id, id, integration_id, name) select $1, r->>'device', r->>'integration', '{"en":"Relay"}'`,
    `entities (org_id, id, device_id, entity_type, metadata)
     select $1, r->>'entity', r->>'device', 'door', r->'metadata'`,
  ];
  for (const insert of inserts)
    await db.query(`insert into ${insert} from jsonb_array_elements($2::jsonb) r`, [
      orgId,
      JSON.stringify(rows),
    ]);
  return links;
}

export type Said = 'ON' | 'OFF';

/** A state as `organization entity status`. */
export const stateText = ({ orgId, entityId }: HerdLink, said: Said | undefined): string =>
  `${orgId} ${entityId} ${said === 'ON' ? 'open' : 'closed'}`;

/** Everything that was written about entities of these organizations, those left out that the broker has no part in. */
export async function statesOf(db: TestDatabase, orgs: readonly HerdOrg[]): Promise<string[]> {
  const rows = await db.query<{ text: string }>(
    `select concat_ws(' ', org_id, entity_id, status) as text from entity_states
     where org_id = any ($1) and entity_id <> all ($2)`,
    [orgs.map(({ orgId }) => orgId), orgs.map(({ healthyDoor }) => healthyDoor)],
  );
  return rows.map(({ text }) => text);
}

/** How many of the moments are in the fullest second, wherever that begins. */
export function fullestSecond(moments: readonly number[]): number {
  const sorted = moments.toSorted((a, b) => a - b);
  return Math.max(0, ...sorted.map((from) => sorted.filter((at) => at >= from && at < from + 1_000).length));
}

/** What was seen while the links came back. */
export interface HerdReturn {
  readonly links: readonly HerdLink[];
  /** When each asked to be let in, and was: in milliseconds. */
  readonly reconnects: readonly number[];
  /** Whom the broker let in, as it wrote itself. */
  readonly clientIds: readonly string[];
  /** The topics of all commands that the broker was sent. No open was asked for. */
  readonly commands: readonly string[];
  readonly opens: readonly { readonly status: number; readonly ms: number }[];
  readonly expectedStates: readonly string[];
  readonly states: readonly string[];
}

export function herdViolations(seen: HerdReturn): string[] {
  const [admitted, expected] = [new Set(seen.clientIds), new Set(seen.expectedStates)];
  const [fullest, count] = [fullestSecond(seen.reconnects), seen.links.length];
  const away = seen.links.filter(({ clientId }) => !admitted.has(clientId));
  return [
    ...(fullest > count * 0.05 ? [`crowd: ${fullest} of ${count} links within a second`] : []),
    ...away.map(({ clientId }) => `not back: ${clientId}`),
    ...seen.commands.map((topic) => `nobody asked for it: ${topic}`),
    ...seen.opens.filter(({ status }) => status !== 200).map(({ status }) => `a healthy door: ${status}`),
    ...seen.states.filter((text) => !expected.has(text)).map((text) => `not said of it: ${text}`),
    ...seen.expectedStates.filter((text) => !seen.states.includes(text)).map((text) => `not heard: ${text}`),
  ];
}
