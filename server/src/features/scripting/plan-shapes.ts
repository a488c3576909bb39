import type { LocalizedText } from '@lintel/contract/common';
import type { ScriptKind } from '@lintel/contract/scripting';
import { parseExternalId, parseResourceName } from '../../kernel/resource-input.ts';
import type { Fields } from './script-fields.ts';
import type { ScriptRecord } from './script-records.ts';

export interface ShapeContext {
  readonly id: string;
  readonly now: string;
  readonly defaultLocale: string;
  readonly rootOrgId: string;
  readonly providerLabel: (providerType: string) => LocalizedText;
}

/** A new record as its operation would show it. */
export function newRecord(kind: ScriptKind, fields: Fields, context: ShapeContext): ScriptRecord {
  const { id, now } = context;
  const defaults = defaultsOf(kind, fields, context);
  return {
    ...defaults,
    ...storedFields(kind, fields, context.defaultLocale),
    id,
    created_at: now,
    updated_at: now,
  };
}

function defaultsOf(kind: ScriptKind, fields: Fields, context: ShapeContext): Fields {
  switch (kind) {
    case 'user':
      return { email_is_synthetic: false, phone: null, locale: null, roles: {} };
    case 'org':
      return {
        description: null,
        parent_id: context.rootOrgId,
        is_personal: false,
        timezone: null,
        user_roles: {},
      };
    case 'integration': {
      const label = context.providerLabel(String(fields.provider_type));
      return { provider_type_name: label, name: label, enabled: true, health: 'ok', config: {} };
    }
    case 'zone':
      return { parent_zone_id: null, external_id: null };
    case 'device':
      return { external_id: null, device_metadata: {} };
    case 'entity':
      return {
        name: null,
        external_id: null,
        zone_id: null,
        metadata: {},
        entity_metadata: {},
        state: { status: 'unknown' },
      };
  }
}

/** What an operation makes of the fields it is given; texts are checked on the way. */
export function storedFields(kind: ScriptKind, fields: Fields, defaultLocale: string): Fields {
  const { name, metadata, ...rest } = fields;
  const externalId = fields.external_id;
  return {
    ...rest,
    ...(name === undefined
      ? {}
      : { name: kind === 'entity' ? name : parseResourceName(name, defaultLocale) }),
    ...(metadata === undefined ? {} : { metadata: metadata ?? {}, entity_metadata: metadata ?? {} }),
    ...(externalId === undefined ? {} : { external_id: parseExternalId(externalId as string | null) }),
    ...(fields.config === null ? { config: {} } : {}),
    ...(fields.device_metadata === null ? { device_metadata: {} } : {}),
  };
}
