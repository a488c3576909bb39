// Valid requests for holds and lockdown.
import type { OperationId } from '@lintel/contract/operations';
import type { Prepared, Recipe, Stage } from './scenario.ts';
import { createBuilding } from './scenario-world.ts';

/** One of its own, so that no other hold is in the way; and closed, so that nothing is opened by itself. */
async function building({ app, tenant }: Stage) {
  return await createBuilding(app, tenant.orgId, tenant.marker);
}

const onEntity = async (stage: Stage): Promise<Prepared> => ({
  params: { id: (await building(stage)).entityId },
});
const onDevice = async (stage: Stage): Promise<Prepared> => ({
  params: { id: (await building(stage)).deviceId },
});
const onOrg = async ({ tenant }: Stage): Promise<Prepared> => ({ params: { org_id: tenant.orgId } });

const withBody =
  (prepare: (stage: Stage) => Promise<Prepared>, body: unknown) =>
  async (stage: Stage): Promise<Prepared> => ({ ...(await prepare(stage)), body });

const hold = {
  mode: 'hold_closed',
  kind: 'recurring',
  recurrence: { days: [1, 7], start: '22:00', end: '06:00' },
  reason: 'night',
};

export const holdScenarios = {
  get_entity_hold: { prepare: onEntity },
  put_entity_hold: { prepare: withBody(onEntity, hold) },
  get_device_hold: { prepare: onDevice },
  put_device_hold: { prepare: withBody(onDevice, hold) },
  get_org_lockdown: { prepare: onOrg },
  // Its end, so that the doors of the other requests still open.
  put_org_lockdown: { prepare: withBody(onOrg, { active: false, reason: 'over' }) },
} satisfies Partial<Record<OperationId, Recipe>>;
