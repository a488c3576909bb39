import type { HoldView, Lockdown } from '@lintel/contract/holds';
import type { OrgScope } from '../../kernel/call.ts';
import { type Clock, toRfc3339 } from '../../kernel/clock.ts';
import type { HandlersOf } from '../../kernel/handler.ts';
import { spanOf, windowAt } from '../../policy/hold-rules.ts';
import { isTimeZone, localTime } from '../../policy/zone-clock.ts';
import type { Held, HoldsService } from './holds.service.ts';
import type { LockdownRecord } from './holds.store.ts';
import type { LockdownService } from './lockdown.service.ts';

type Ids =
  | 'get_entity_hold'
  | 'put_entity_hold'
  | 'get_device_hold'
  | 'put_device_hold'
  | 'get_org_lockdown'
  | 'put_org_lockdown';

export function holdRoutes(holds: HoldsService, lockdowns: LockdownService, clock: Clock): HandlersOf<Ids> {
  const view = (org: OrgScope, held: Held) => toView(org, held, clock.millis());
  return {
    get_entity_hold: async ({ call, org, params }) => view(org, await holds.ofEntity(call, org, params.id)),
    put_entity_hold: async ({ call, org, params, body }) =>
      view(org, await holds.setOnEntity(call, org, params.id, body)),
    get_device_hold: async ({ call, org, params }) => view(org, await holds.ofDevice(call, org, params.id)),
    put_device_hold: async ({ call, org, params, body }) =>
      view(org, await holds.setOnDevice(call, org, params.id, body)),
    get_org_lockdown: async ({ org }) => toLockdown(await lockdowns.find(org)),
    put_org_lockdown: async ({ call, org, body }) => toLockdown(await lockdowns.set(call, org, body)),
  };
}

function toView(org: OrgScope, { target, hold }: Held, nowMs: number): HoldView {
  const timezone = org.timezone !== null && isTimeZone(org.timezone) ? org.timezone : 'UTC';
  if (hold === null) {
    return {
      ...{ id: null, mode: 'normal', kind: null, scope: null, active: false, until: null, reason: null },
      ...{ include_lights: false, recurrence: null, timezone },
      device_id: target.deviceId,
      entity_id: target.entityId,
    };
  }
  const window = windowAt(spanOf(hold), nowMs, () => localTime(timezone, nowMs));
  return {
    id: hold.id,
    mode: hold.mode,
    kind: hold.kind,
    scope: hold.entityId === null ? 'device' : 'entity',
    device_id: target.deviceId,
    entity_id: target.entityId,
    active: window !== null,
    until: hold.until && toRfc3339(hold.until),
    reason: hold.reason,
    include_lights: hold.includeLights,
    recurrence: hold.recurrence && { ...hold.recurrence, days: [...hold.recurrence.days] },
    timezone,
  };
}

function toLockdown(lockdown: LockdownRecord | null): Lockdown {
  return {
    active: lockdown !== null,
    id: lockdown?.id ?? null,
    org_id: lockdown?.orgId ?? null,
    reason: lockdown?.reason ?? null,
    until: lockdown?.until ? toRfc3339(lockdown.until) : null,
    created_at: lockdown ? toRfc3339(lockdown.createdAt) : null,
  };
}
