import type { ImageKind } from '@lintel/contract/images';
import type { OperationId } from '@lintel/contract/operations';
import { scriptKinds } from '@lintel/contract/script-functions';
import type { ScriptKind } from '@lintel/contract/scripting';
import { AppError } from '../../kernel/app-error.ts';

export type FieldType = 'text' | 'id' | 'bool' | 'object' | 'texts' | 'roles' | 'entity type';

export interface FieldSpec {
  readonly type: FieldType;
  readonly required?: true;
}

type Fields = Readonly<Record<string, FieldSpec>>;

export interface KindSpec {
  readonly plural: string;
  readonly create: Fields;
  readonly update: Fields;
  readonly operations: {
    readonly create: OperationId;
    readonly get: OperationId;
    readonly update: OperationId;
    readonly delete: OperationId;
    readonly purge: OperationId;
  };
}

const text = { type: 'text' } as const;
const id = { type: 'id' } as const;
const bool = { type: 'bool' } as const;
const object = { type: 'object' } as const;
const needed = <F extends FieldSpec>(field: F) => ({ ...field, required: true }) as const;

const operationsOf = <K extends ScriptKind>(kind: K) =>
  ({
    create: `create_${kind}`,
    get: `get_${kind}`,
    update: `update_${kind}`,
    delete: `delete_${kind}`,
    purge: `hard_delete_${kind}`,
  }) as const;

/** The table of interface 4.10. */
export const kindTable: Readonly<Record<ScriptKind, KindSpec>> = {
  user: {
    plural: 'users',
    create: { name: needed(text), email: needed(text), id, roles: { type: 'roles' } },
    update: { name: text, email: text },
    operations: operationsOf('user'),
  },
  org: {
    plural: 'orgs',
    create: { name: needed(text), description: text, id, parent_id: id },
    update: { name: text, description: text, parent_id: id },
    operations: operationsOf('org'),
  },
  integration: {
    plural: 'integrations',
    create: { org_id: needed(id), provider_type: needed(text), enabled: bool, config: object },
    update: { enabled: bool, config: object },
    operations: operationsOf('integration'),
  },
  zone: {
    plural: 'zones',
    create: { integration_id: needed(id), name: needed(text), parent_zone_id: id, external_id: text },
    update: { name: text, parent_zone_id: id, external_id: text },
    operations: operationsOf('zone'),
  },
  device: {
    plural: 'devices',
    create: {
      org_id: needed(id),
      name: needed(text),
      integration_id: needed(id),
      external_id: text,
      device_metadata: object,
    },
    update: { name: text, external_id: text, device_metadata: object },
    operations: operationsOf('device'),
  },
  entity: {
    plural: 'entities',
    create: {
      device_id: needed(id),
      entity_type: needed({ type: 'entity type' }),
      zone_id: id,
      name: text,
      external_id: text,
      metadata: { type: 'texts' },
    },
    update: { zone_id: id, name: text, external_id: text, metadata: { type: 'texts' } },
    operations: operationsOf('entity'),
  },
};

const kindsByName: ReadonlyMap<string, ScriptKind> = new Map(
  scriptKinds.flatMap((kind) => [
    [kind, kind],
    [kindTable[kind].plural, kind],
  ]),
);

export function parseKind(name: string): ScriptKind {
  const kind = kindsByName.get(name);
  if (kind !== undefined) return kind;
  throw new AppError(
    'validation_error',
    `there is no kind ${shown(name)}; there are ${scriptKinds.join(', ')}`,
  );
}

/** Zones have no images. */
export function parseImageKind(name: string): ImageKind {
  if (name === 'access_invite' || name === 'access_invites')
    throw new AppError('validation_error', 'access invites have no images here yet');
  const kind = parseKind(name);
  if (kind === 'zone') throw new AppError('validation_error', 'a zone has no image');
  return kind;
}

export const shown = (name: string): string => JSON.stringify(name.slice(0, 64));
