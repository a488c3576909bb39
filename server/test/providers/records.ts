import { expect } from 'vitest';
import { createKeyedMutex } from '../../src/kernel/async-queue.ts';
import type { ProviderBench, RecordIds, Records, Stage } from './bench.ts';

/** All benches begin at the same moment, and a busy machine would answer some of them with 503. */
const oneAtATime = createKeyedMutex();

/** Integration, device and entity, each by its POST. */
export function createRecords(
  stage: Pick<Stage, 'api' | 'orgId'>,
  bench: Pick<ProviderBench, 'provider' | 'transport'>,
  records: Records,
): Promise<RecordIds> {
  return oneAtATime.run('create', () => postAll(stage, bench, records));
}

async function postAll(
  { api, orgId }: Pick<Stage, 'api' | 'orgId'>,
  bench: Pick<ProviderBench, 'provider' | 'transport'>,
  records: Records,
): Promise<RecordIds> {
  const post = async (path: string, body: Record<string, unknown>): Promise<string> => {
    const answer = await api('POST', path, body);
    expect(answer.status, answer.text).toBe(201);
    return String(answer.body.id);
  };
  const integrationId = await post('/integrations', {
    org_id: orgId,
    provider_type: bench.provider,
    name: bench.transport,
    ...records.integration,
  });
  const deviceId = await post('/devices', {
    org_id: orgId,
    integration_id: integrationId,
    name: 'Gate',
    ...records.device,
  });
  const entityId = await post('/entities', { device_id: deviceId, name: 'Gate', ...records.entity });
  return { integrationId, deviceId, entityId };
}
