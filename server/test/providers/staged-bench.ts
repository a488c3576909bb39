import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { eventually } from '../support/eventually.ts';
import type { Answer, TestApp } from '../support/test-app.ts';
import { rootAdminId } from '../support/test-world.ts';
import type { FarSide, ProviderBench, RecordIds, Stage } from './bench.ts';
import { createRecords } from './records.ts';

/** A bench in its own organization of the running service, driven through the HTTP API with a scoped key. */
export interface StagedBench {
  readonly far: FarSide;
  /** Integration, device and entity by POST, then healthy. */
  create(): Promise<void>;
  act(action: string, idempotencyKey?: string): Promise<Answer>;
  /** An open that is asked for again only while it was provably not sent. */
  openOnceReachable(): Promise<Answer>;
  untilHealthy(): Promise<void>;
  untilUnhealthy(): Promise<void>;
  /** So many openings at the far side, and no more of them for a while. */
  expectOpens(count: number): Promise<void>;
}

const scopedRoles = [
  'integrations:create',
  'integrations:read',
  'integrations:update',
  'devices:create',
  'entities:create',
  'entities:set_state',
];

/** Longer than the first waits of every back-off: what is sent again by itself would have arrived. */
const QUIET_MS = 2_500;
const REACHABLE_WITHIN_MS = 40_000;
/** Every look is a request, and all benches look at once. */
const LOOK_EVERY_MS = 200;

export async function stageBench(node: TestApp, origin: string, bench: ProviderBench): Promise<StagedBench> {
  const orgId = await node.world.org({ name: `${bench.provider} ${bench.transport}` });
  const { token } = await node.world.key(orgId, rootAdminId, { scopedRoles });
  const api: Stage['api'] = (method, path, body) => node.request(method, path, { token, org: orgId, body });
  const far = await bench.start({ origin, dataDir: node.dataDir, orgId, api });
  let ids: RecordIds = { integrationId: '', deviceId: '', entityId: '' };
  const act: StagedBench['act'] = (action, key) =>
    node.request('POST', `/entities/${ids.entityId}/actions/${action}`, {
      token,
      org: orgId,
      body: {},
      ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
    });
  const best = far.bestHealth ?? 'ok';
  const health = async (): Promise<unknown> =>
    (await api('GET', `/integrations/${ids.integrationId}`)).body.health;
  const untilHealthy = (): Promise<void> =>
    eventually(async () => (await health()) === best, REACHABLE_WITHIN_MS, LOOK_EVERY_MS);
  return {
    far,
    act,
    untilHealthy,
    untilUnhealthy: () =>
      eventually(async () => (await health()) === 'error', REACHABLE_WITHIN_MS, LOOK_EVERY_MS),
    async create() {
      ids = await createRecords({ api, orgId }, bench, far.records);
      await far.connect?.(ids);
      await untilHealthy();
    },
    async openOnceReachable() {
      let answer = await act('open');
      await eventually(
        async () => {
          if (answer.status === 502) answer = await act('open');
          return answer.status !== 502;
        },
        REACHABLE_WITHIN_MS,
        LOOK_EVERY_MS,
      );
      return answer;
    },
    async expectOpens(count) {
      await eventually(() => far.opens().length >= count);
      await delay(QUIET_MS);
      expect(far.opens()).toHaveLength(count);
    },
  };
}
