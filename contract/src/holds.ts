import { type Static, Type } from 'typebox';
import {
  Closed,
  IdParams,
  Nullable,
  OptionalNullable,
  OrgIdParams,
  Response,
  Timestamp,
  Ulid,
} from './common.ts';
import { defineOperation } from './operation.ts';

const oneOf = <T extends string>(...values: T[]) => Type.Unsafe<T>({ type: 'string', enum: values });

const HoldMode = oneOf('normal', 'hold_open', 'hold_closed');
const HoldKind = oneOf('permanent', 'temporary', 'recurring');
const TimeOfDay = Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$', description: 'HH:MM, local' });
const Reason = Type.String({ maxLength: 500, description: 'Shown to whoever is refused' });
const Until = Type.String({
  format: 'date-time',
  description: 'RFC 3339; in the future, taken up to the next whole minute',
});

export const HoldRecurrence = Closed('HoldRecurrence', {
  frequency: Type.Optional(oneOf('weekly')),
  days: Type.Array(Type.Integer({ minimum: 1, maximum: 7 }), {
    minItems: 1,
    maxItems: 7,
    uniqueItems: true,
    description: 'ISO days on which a window begins: Monday is 1, Sunday 7',
  }),
  start: TimeOfDay,
  end: Type.String({
    pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
    description: 'HH:MM, exclusive; not after start means on the next day',
  }),
});
export type HoldRecurrence = Static<typeof HoldRecurrence>;

export const PutHoldRequest = Closed('PutHoldRequest', {
  mode: HoldMode,
  kind: OptionalNullable(
    Type.Unsafe<'permanent' | 'temporary' | 'recurring'>({
      ...HoldKind,
      description: 'Follows from until and recurrence when absent',
    }),
  ),
  until: OptionalNullable(Until),
  reason: OptionalNullable(Reason),
  include_lights: OptionalNullable(
    Type.Boolean({ description: 'The lights of the same device too; false unless given' }),
  ),
  recurrence: OptionalNullable(HoldRecurrence),
});
export type PutHoldRequest = Static<typeof PutHoldRequest>;

const holdFields = {
  id: Nullable(Ulid),
  mode: HoldMode,
  kind: Nullable(HoldKind),
  scope: Nullable(
    Type.Unsafe<'entity' | 'device'>({
      type: 'string',
      enum: ['entity', 'device'],
      description: 'What the hold was set on',
    }),
  ),
  device_id: Ulid,
  entity_id: Nullable(Ulid),
  active: Type.Boolean({ description: 'Whether it holds at this moment' }),
  until: Nullable(Timestamp),
  reason: Nullable(Type.String()),
  include_lights: Type.Boolean(),
  recurrence: Nullable(HoldRecurrence),
  timezone: Type.String({ description: 'IANA zone of the organization that hours are meant in' }),
};

export const HoldView = Response('HoldView', holdFields);
export type HoldView = Static<typeof HoldView>;
export const DoorHold = Response('DoorHoldResponse', holdFields);

export const Lockdown = Response('LockdownResponse', {
  active: Type.Boolean({ description: 'Whether nothing opens here, by a lockdown here or above' }),
  id: Nullable(Ulid),
  org_id: Nullable(
    Type.String({ description: 'Whose lockdown it is: this organization, or the first one above it' }),
  ),
  reason: Nullable(Type.String()),
  until: Nullable(Timestamp),
  created_at: Nullable(Timestamp),
});
export type Lockdown = Static<typeof Lockdown>;

export const PutLockdownRequest = Closed('PutLockdownRequest', {
  active: Type.Boolean(),
  reason: OptionalNullable(Reason),
  until: OptionalNullable(Until),
});
export type PutLockdownRequest = Static<typeof PutLockdownRequest>;

const base = { tag: 'Holds', auth: 'principal', agents: false, org: 'principal' } as const;
const egress =
  'It decides about commands of this service only. The way out is never routed through software: an exit button, a ' +
  'handle or a fire alarm opens the door without asking.';
const rights =
  'hold_open is an open that lasts: the caller also needs the role entities:set_state (or one in the building), and ' +
  'what an open of each door by them would need at this moment: a policy that denies it refuses the hold, one that ' +
  'asks for a confirmation is answered with confirmation_required as an action is, and one that asks for somebody ' +
  'else’s consent refuses it too, because a hold can not be consented to. When a window begins it is decided again, ' +
  'with the rights that whoever set the hold (and their key) has by then; what they confirmed stays confirmed.';
const effects =
  'hold_closed refuses every open, with the id of the hold; of a device as a whole it does so for all devices of the ' +
  'organization and of those below that are the same hardware, and the mode normal on any of them here lifts it. ' +
  'hold_open opens the door when its time begins and leaves it open without a pulse; at its end the door is closed. ' +
  'A close by a caller is always carried out, and the hold ' +
  `stays: the door is opened again by a caller, or when the next window begins. ${rights} ${egress}`;
const confirmHeader = {
  name: 'X-Service-Confirm',
  required: false,
  description: 'The single-use value when step-up applies to hold_open',
};
const holdErrors = [
  'confirmation_invalid',
  'confirmation_required',
  'hold_conflict',
  'policy_denied',
] as const;

export const holdOperations = [
  defineOperation({
    ...base,
    id: 'get_entity_hold',
    method: 'GET',
    path: '/entities/{id}/hold',
    summary: 'Whether an entity is held open or closed, by a hold of its own or of its device',
    role: 'entities:read',
    params: IdParams,
    responses: { 200: HoldView },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...base,
    id: 'put_entity_hold',
    method: 'PUT',
    path: '/entities/{id}/hold',
    summary: 'Hold an entity open or closed, or end its hold with the mode normal',
    description: effects,
    role: 'entities:update',
    params: IdParams,
    headers: [confirmHeader],
    body: PutHoldRequest,
    responses: { 200: HoldView },
    errors: holdErrors,
    audit: 'entity.hold_changed',
  }),
  defineOperation({
    ...base,
    id: 'get_device_hold',
    method: 'GET',
    path: '/devices/{id}/hold',
    summary: 'Whether a device, such as a portal, is held open or closed',
    role: 'devices:read',
    params: IdParams,
    responses: { 200: DoorHold },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...base,
    id: 'put_device_hold',
    method: 'PUT',
    path: '/devices/{id}/hold',
    summary: 'Hold all doors and switches of a device open or closed, or end its hold',
    description: effects,
    role: 'devices:update',
    params: IdParams,
    headers: [confirmHeader],
    body: PutHoldRequest,
    responses: { 200: DoorHold },
    errors: holdErrors,
    audit: 'device.hold_changed',
  }),
  defineOperation({
    ...base,
    org: 'path',
    orgParam: 'org_id',
    id: 'get_org_lockdown',
    method: 'GET',
    path: '/orgs/{org_id}/lockdown',
    summary: 'Whether an organization is locked down, by itself or from above',
    role: 'member',
    params: OrgIdParams,
    responses: { 200: Lockdown },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...base,
    org: 'path',
    orgParam: 'org_id',
    id: 'put_org_lockdown',
    method: 'PUT',
    path: '/orgs/{org_id}/lockdown',
    summary: 'Lock an organization and everything below it down, or end that',
    description:
      'While it lasts every open is refused (policy type `lockdown`), doors that were held open are closed, and ' +
      `closing is always possible. When it is over nothing opens by itself before the next window of a hold. ${egress}`,
    role: 'admin',
    params: OrgIdParams,
    body: PutLockdownRequest,
    responses: { 200: Lockdown },
    errors: [],
    audit: 'org.lockdown_changed',
  }),
] as const;
