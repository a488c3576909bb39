import { Ulid } from '@lintel/contract/common';
import { type Static, type TObject, type TProperties, Type } from 'typebox';

export const policyScopes = ['org', 'integration', 'device'] as const;
export type PolicyScope = (typeof policyScopes)[number];

export const enforcements = ['enforce', 'require_approval', 'audit_only'] as const;
export type Enforcement = (typeof enforcements)[number];

/** When a kind acts: at an entity action, when something is made or shared, at a vote, never by itself, or as a notice. */
export type PolicyMoment = 'access' | 'authoring' | 'approval' | 'feeds' | 'notify';

export const principalKinds = [
  'agent',
  'api_key',
  'invitation',
  'member',
  'resident',
  'admin',
  'all',
] as const;
export type PolicyPrincipalKind = (typeof principalKinds)[number];

export interface PolicyKindSpec {
  readonly moment: PolicyMoment;
  readonly scopes: readonly PolicyScope[];
  readonly enforcements: readonly Enforcement[];
  readonly config: TObject;
  readonly summary: string;
}

const oneOf = <T extends string>(values: readonly T[]) =>
  Type.Unsafe<T>({ type: 'string', enum: [...values] });

const output = Type.Optional(
  Type.Union([Type.String({ minLength: 1, maxLength: 255 }), Type.Integer(), Type.Null()], {
    description: 'Only this output: channel index, output number, or id of the entity',
  }),
);
const appliesTo = Type.Optional(
  Type.Array(oneOf(principalKinds), { minItems: 1, uniqueItems: true, description: 'All when absent' }),
);

const closed = <P extends TProperties>(properties: P) =>
  Type.Object({ ...properties, applies_to: appliesTo, output }, { additionalProperties: false });

export const TimeOfDay = Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$', description: 'HH:MM' });
const CalendarDate = Type.String({ format: 'date', description: 'YYYY-MM-DD, local' });
const dates = Type.Array(CalendarDate, { maxItems: 1000, uniqueItems: true });
const Window = Type.Object({ start: TimeOfDay, end: TimeOfDay }, { additionalProperties: false });
const flag = Type.Optional(Type.Boolean());
const count = Type.Integer({ minimum: 1, maximum: 2_147_483_647 });

const everyScope = { scopes: policyScopes, enforcements } as const;
const access = { ...everyScope, moment: 'access' } as const;
const authoring = { ...everyScope, moment: 'authoring' } as const;
const building = ['org', 'integration'] as const;

/** Every kind there is (reference/behaviour.md 5.2). What is not here is refused with 400. */
export const policyKinds = {
  require_step_up: { ...access, config: closed({}), summary: 'The caller must confirm an open.' },
  quiet_hours: {
    ...access,
    config: closed({ start: TimeOfDay, end: TimeOfDay, holiday_calendar: flag }),
    summary:
      'No opens from start to end, both inclusive, local time; with holiday_calendar also all day on holidays.',
  },
  cedar: {
    ...access,
    config: closed({ policy: Type.String({ minLength: 1, maxLength: 16_384 }) }),
    summary: 'One forbid policy in the Cedar language, checked against lintel.cedarschema.',
  },
  approval_threshold: {
    moment: 'approval',
    scopes: policyScopes,
    enforcements: ['enforce', 'audit_only'],
    config: Type.Object(
      {
        count: Type.Integer({ minimum: 1, maximum: 100 }),
        scope: Type.Optional(oneOf(['org_admins'])),
        output,
      },
      { additionalProperties: false },
    ),
    summary: 'How many people must approve.',
  },
  holiday_calendar: {
    moment: 'feeds',
    scopes: policyScopes,
    enforcements: ['enforce'],
    config: closed({ dates }),
    summary: 'Holidays, for the kinds that ask for them.',
  },
  invitation_curfew: {
    moment: 'access',
    scopes: building,
    enforcements: ['enforce'],
    config: closed({
      windows: Type.Optional(Type.Array(Window, { minItems: 1, maxItems: 50 })),
      start: Type.Optional(TimeOfDay),
      end: Type.Optional(TimeOfDay),
    }),
    summary: 'No entry by invitation inside these windows of local time; end inclusive, may wrap midnight.',
  },
  user_sharing: {
    moment: 'authoring',
    scopes: building,
    enforcements: ['enforce', 'require_approval'],
    config: closed({ mode: oneOf(['none', 'admin_only', 'approval_required', 'all']) }),
    summary: 'Who may share access.',
  },
  invitation_allowed_days: {
    ...authoring,
    config: closed({
      weekdays: Type.Optional(
        Type.Array(Type.Integer({ minimum: 0, maximum: 6 }), {
          uniqueItems: true,
          description: '0 is Sunday',
        }),
      ),
      blackout_dates: Type.Optional(dates),
      holiday_calendar: flag,
    }),
    summary: 'Days on which invitations may be valid.',
  },
  invitation_allowed_entry_kinds: {
    ...authoring,
    config: closed({
      kinds: Type.Array(oneOf(['door', 'gate', 'boom-gate']), { minItems: 1, uniqueItems: true }),
    }),
    summary: 'Kinds of entries that invitations may open.',
  },
  invitation_max_active_per_user: {
    ...authoring,
    config: closed({ max: count }),
    summary: 'How many active invitations one user may have.',
  },
  max_doors_per_invite: { ...authoring, config: closed({ max: count }), summary: 'Doors of one invitation.' },
  invitation_max_duration: {
    ...authoring,
    config: closed({ max_seconds: count }),
    summary: 'How long an invitation may be valid.',
  },
  invitation_max_uses: {
    ...authoring,
    config: closed({ max_uses: count }),
    summary: 'How often an invitation may be used.',
  },
  invitation_require_identity: {
    ...authoring,
    config: closed({ require_photo: flag, require_pin: flag, require_verified_phone: flag }),
    summary: 'What a guest must show.',
  },
  invitation_require_justification: {
    ...authoring,
    config: closed({}),
    summary: 'An invitation needs a written reason.',
  },
  invite_creator_roles: {
    ...authoring,
    config: closed({
      allowed_roles: Type.Array(Type.String({ minLength: 1, maxLength: 128 }), {
        maxItems: 100,
        uniqueItems: true,
      }),
    }),
    summary: 'Roles that may invite.',
  },
  prohibit_master_door_invites: {
    ...authoring,
    config: closed({ master_door_ids: Type.Array(Ulid, { minItems: 1, maxItems: 1000, uniqueItems: true }) }),
    summary: 'Doors that no invitation may open.',
  },
  share_max_duration: {
    ...authoring,
    config: closed({ max_seconds: Type.Integer({ minimum: 1, maximum: 31_536_000 }) }),
    summary: 'How long a share may be valid; 86,400 s unless set.',
  },
  share_max_uses: { ...authoring, config: closed({ max_uses: count }), summary: 'Uses of a share, at most.' },
  share_default_max_uses: {
    ...authoring,
    config: closed({ max_uses: count }),
    summary: 'Uses of a share that names none.',
  },
  share_allow_unlimited: {
    ...authoring,
    config: closed({ allowed: Type.Boolean() }),
    summary: 'Whether a share may have unlimited uses.',
  },
  no_reshare: { ...authoring, config: closed({}), summary: 'What was shared may not be shared again.' },
  no_transitive_delegation: {
    ...authoring,
    config: closed({}),
    summary: 'Rights that were delegated may not be delegated again.',
  },
  require_expiry: { ...authoring, config: closed({}), summary: 'An invitation must end.' },
  restrict_to_own_listing_doors: {
    ...authoring,
    config: closed({}),
    summary: 'Residents invite to the doors of their own listing only.',
  },
  external_group_sharing: {
    ...authoring,
    config: closed({ allowed: Type.Boolean() }),
    summary: 'Whether access may be shared with groups from outside.',
  },
  linked_account_admin: {
    moment: 'authoring',
    scopes: ['org'],
    enforcements: ['enforce', 'audit_only'],
    config: closed({ mode: oneOf(['allow', 'warn_and_ack', 'deny']) }),
    summary: 'Linking a cloud account that is no administrator of its gate.',
  },
  notification: {
    moment: 'notify',
    scopes: policyScopes,
    enforcements: ['enforce'],
    config: closed({ channels: Type.Array(oneOf(['audit']), { minItems: 1, uniqueItems: true }) }),
    summary: 'Where notices go.',
  },
} as const satisfies Record<string, PolicyKindSpec>;

export type PolicyType = keyof typeof policyKinds;
export type PolicyConfig<T extends PolicyType> = Static<(typeof policyKinds)[T]['config']>;

export const policyTypes = Object.keys(policyKinds) as PolicyType[];

export function isPolicyType(text: string): text is PolicyType {
  return Object.hasOwn(policyKinds, text);
}
