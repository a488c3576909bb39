import pg from 'pg';
import { ulid } from '../server/src/kernel/ulid.ts';
import { percentiles } from './http-load.ts';

export interface SqlTarget {
  readonly url: string;
  readonly orgId: string;
  readonly doors: readonly string[];
}

/** The two statements of an open, called as fast as the driver can: what the database alone would allow. */
export async function sqlLoad(target: SqlTarget, connections: number, warmUpMs: number, measureMs: number) {
  const { epoch, doors } = await readDoors(target);
  const latencies: number[] = [];
  const measureFrom = performance.now() + warmUpMs;
  const end = measureFrom + measureMs;
  let counter = 0;

  async function runConnection(): Promise<void> {
    const client = new pg.Client({ connectionString: target.url, options: '-c role=lintel_app' });
    await client.connect();
    while (performance.now() < end) {
      const began = performance.now();
      counter += 1;
      await openAndFinish(client, target.orgId, epoch, doors[counter % doors.length] as Door, counter);
      const now = performance.now();
      if (began >= measureFrom && now <= end) latencies.push(now - began);
    }
    await client.end();
  }

  await Promise.all(Array.from({ length: connections }, runConnection));
  return { perSecond: (latencies.length / measureMs) * 1000, ...percentiles(latencies) };
}

interface Door {
  readonly entity_id: string;
  readonly device_id: string;
  readonly integration_id: string;
}

async function readDoors({ url, orgId, doors }: SqlTarget): Promise<{ epoch: number; doors: Door[] }> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const found = await client.query<Door & { epoch: string }>(
    `select e.id as entity_id, d.id as device_id, d.integration_id, p.epoch from entities e
     join devices d on d.id = e.device_id join org_epochs p on p.org_id = e.org_id where e.org_id = $1 and e.id = any ($2)`,
    [orgId, doors],
  );
  await client.end();
  return { epoch: Number(found.rows[0]?.epoch), doors: found.rows };
}

async function openAndFinish(
  client: pg.Client,
  orgId: string,
  epoch: number,
  door: Door,
  n: number,
): Promise<void> {
  const id = ulid();
  const intent = {
    id,
    org_id: orgId,
    epoch,
    entity_id: door.entity_id,
    device_id: door.device_id,
    integration_id: door.integration_id,
    action_id: 'switchable.open',
    principal_kind: 'api_key',
    principal_id: 'bench',
    actor: { kind: 'api_key', userId: 'u', apiKeyId: 'k' },
    source: 'api',
    details: { resource_name: 'door' },
    correlation_id: id,
    fingerprint: '00'.repeat(32),
    deadline_ms: 5000,
    counters: ['door_opens', 'voice_invocations'],
    plain: true,
  };
  await client.query({
    name: 'open',
    text: 'select * from open_intents($1, $2)',
    values: [JSON.stringify([intent]), n % 16],
  });
  const finished = [
    {
      org_id: orgId,
      id,
      state: 'succeeded',
      result: { ok: true },
      release_key: false,
      event_id: id,
      outcome: 'succeeded',
      details: { latency_ms: 1 },
      status: 'open',
      status_source: 'virtual_demo',
      place: 0,
    },
  ];
  await client.query({
    name: 'finish',
    text: 'select * from finish_intents($1)',
    values: [JSON.stringify(finished)],
  });
}
