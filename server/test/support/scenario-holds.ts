// Valid requests for holds and lockdown.
import type { OperationId } from '@lintel/contract/operations';
import { ulid } from '../../src/kernel/ulid.ts';
import type { Prepared, Recipe, Stage } from './scenario.ts';
import { createBuilding } from './scenario-world.ts';

/** One of its own, so that no other hold is in the way; and paused, so that nothing is opened by itself meanwhile. */
async function building({ app, tenant }: Stage) {
  const made = await createBuilding(app, tenant.orgId, tenant.marker);
  await app.db.query('update integrations set enabled = false where id = $1', [made.integrationId]);
  return made;
}

const onEntity = async (stage: Stage): Promise<Prepared> => ({
  params: { id: (await building(stage)).entityId },
});
const onDevice = async (stage: Stage): Promise<Prepared> => ({
  params: { id: (await building(stage)).deviceId },
});
const onOrg = async ({ tenant }: Stage): Promise<Prepared> => ({ params: { org_id: tenant.orgId } });

/** One whose time is over and that is ended, so that the doors of other requests still open. */
async function onLockedOrg(stage: Stage): Promise<Prepared> {
  await stage.app.db.query(
    `insert into org_lockdowns (org_id, id, until)
     values ($1, $2, date_trunc('minute', now() - interval '1 hour')) on conflict do nothing`,
    [stage.tenant.orgId, ulid()],
  );
  return await onOrg(stage);
}

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
  put_org_lockdown: { prepare: withBody(onLockedOrg, { active: false, reason: 'over' }) },
} satisfies Partial<Record<OperationId, Recipe>>;
