import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ulid } from '../../src/kernel/ulid.ts';
import { startPeerProcess } from '../support/peers/peer-process.ts';
import type { TestDatabase } from '../support/test-database.ts';
import type { DoorCommand } from './oracle.ts';

/** The ground truth: a device in a process of its own. See door-process.ts. */
export interface Door {
  readonly port: number;
  /** Everything it was ever told, by the entities that were made for it. */
  commands(): DoorCommand[];
  /** Ends a process after its n-th command from now was written down, before it is answered. */
  killAt(pid: number, n: number): Promise<void>;
  hold(ms: number): Promise<void>;
  plug(on: boolean): Promise<void>;
  /** Entities with a relay of the device each. `port`: where the service finds it, when something is in between. */
  addHttpDoors(db: TestDatabase, orgId: string, count: number, port?: number): Promise<string[]>;
  addMqttDoors(db: TestDatabase, orgId: string, count: number, brokerPort: number): Promise<string[]>;
  stop(): Promise<void>;
}

const program = fileURLToPath(new URL('door-process.ts', import.meta.url));
const relaysPerDevice = 32;

export async function startDoor(brokerPort = 0): Promise<Door> {
  const dir = mkdtempSync(join(tmpdir(), 'lintel-door-'));
  const log = join(dir, 'commands.jsonl');
  const child = startPeerProcess(process.execPath, [program, log, String(brokerPort)]);
  const [, port] = await child.line(/^port (\d+)$/);
  const entities = new Map<string, string>();
  let devices = 0;
  let said = 0;
  const tell = async (line: string): Promise<void> => {
    said += 1;
    child.write(`${line}\n`);
    while (child.lines.filter((text) => text.startsWith('done')).length < said)
      await new Promise((resolve) => setTimeout(resolve, 5));
  };
  return {
    port: Number(port),
    commands: () => readCommands(log, entities),
    killAt: (pid, n) => tell(`kill ${pid} ${n}`),
    hold: (ms) => tell(`hold ${ms}`),
    plug: (on) => tell(on ? 'on' : 'off'),
    async addHttpDoors(db, orgId, count, at = Number(port)) {
      const ids: string[] = [];
      while (ids.length < count) {
        devices += 1;
        const host = `127.0.${1 + Math.floor(devices / 250)}.${1 + (devices % 250)}`;
        const config = { transport: 'http', base_url: `http://${host}:${at}`, poll_interval_seconds: 3600 };
        const many = Math.min(relaysPerDevice, count - ids.length);
        const metadata = Array.from({ length: many }, (_, index) => ({ channel_index: String(index + 1) }));
        const added = await addIntegration(db, orgId, 'tasmota', config, metadata);
        added.forEach((id, index) => void entities.set(`${host}/${index + 1}`, id));
        ids.push(...added);
      }
      return ids;
    },
    async addMqttDoors(db, orgId, count, broker) {
      const config = { broker_host: '127.0.0.1', broker_port: broker };
      const names = Array.from({ length: count }, () => ulid());
      const metadata = names.map((name) => ({
        command_topic: `door/${name}/set`,
        state_topic: `door/${name}/state`,
      }));
      const added = await addIntegration(db, orgId, 'mqtt', config, metadata);
      added.forEach((id, index) => void entities.set(`mqtt/${names[index]}`, id));
      return added;
    },
    stop: async () => {
      await child.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function readCommands(log: string, entities: ReadonlyMap<string, string>): DoorCommand[] {
  const lines = readFileSync(log, 'utf8').split('\n').filter(Boolean);
  return lines
    .map((line) => JSON.parse(line) as { at: number; door: string; command: string })
    .map(({ at, door, command }) => ({ at, entityId: entities.get(door) ?? door, word: command }));
}

/** Each entity on a device of its own, so that none waits for another. */
async function addIntegration(
  db: TestDatabase,
  orgId: string,
  providerType: string,
  config: object,
  metadata: readonly object[],
): Promise<string[]> {
  const integrationId = ulid();
  await db.query(
    `insert into integrations (org_id, id, provider_type, name, config) values ($1, $2, $3, '{"en":"Door"}', $4)`,
    [orgId, integrationId, providerType, config],
  );
  const rows = metadata.map((own) => ({ device: ulid(), entity: ulid(), metadata: own }));
  await db.query(
    `insert into devices (org_id, id, integration_id, name)
     select $1, r->>'device', $2, '{"en":"Relay"}' from jsonb_array_elements($3::jsonb) r`,
    [orgId, integrationId, JSON.stringify(rows)],
  );
  await db.query(
    `insert into entities (org_id, id, device_id, entity_type, metadata)
     select $1, r->>'entity', r->>'device', 'door', r->'metadata' from jsonb_array_elements($2::jsonb) r`,
    [orgId, JSON.stringify(rows)],
  );
  return rows.map(({ entity }) => entity);
}
