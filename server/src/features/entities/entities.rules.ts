import { type EntityType, entityTypes } from '@lintel/contract/entities';
import { invalid } from '../../kernel/app-error.ts';
import { requireSmallMetadata } from '../../kernel/resource-input.ts';
import { cleanText } from '../../kernel/text.ts';

/** `door,light` → both; null when no type is named. */
export function parseEntityTypes(text: string | undefined): EntityType[] | null {
  const names = (text ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const types = names.map((name) => {
    const type = entityTypes.find((known) => known === name);
    if (type === undefined) throw invalid('/entity_type', `must be of ${entityTypes.join(', ')}`);
    return type;
  });
  return types.length === 0 ? null : types;
}

/** Null and an empty text are no name. */
export function parseEntityName(input: string | null): string | null {
  if (input === null || input.trim() === '') return null;
  const name = cleanText(input, { maxLength: 200 });
  if (!name.ok) throw invalid('/name', name.reason);
  return name.text;
}

export type Metadata = Record<string, string>;

export interface MetadataEdit {
  /** Undefined keeps, null clears, an object replaces. */
  readonly metadata?: Readonly<Record<string, unknown>> | null | undefined;
  /** Undefined keeps, null removes. Wins over a member of the same name. */
  readonly channelIndex?: number | null | undefined;
}

/** Values are texts: anything else becomes its JSON text, and null is no value at all. */
export function editMetadata(before: Metadata, { metadata, channelIndex }: MetadataEdit): Metadata {
  const base = metadata === undefined ? before : textMembers(metadata ?? {});
  return small(channelIndex === undefined ? base : mergeMetadata(base, { channel_index: channelIndex }));
}

/** Member by member; null removes one. */
export function mergeMetadata(before: Metadata, patch: Readonly<Record<string, unknown>>): Metadata {
  const kept = Object.entries(before).filter(([name]) => !Object.hasOwn(patch, name));
  return small({ ...Object.fromEntries(kept), ...textMembers(patch) });
}

function textMembers(members: Readonly<Record<string, unknown>>): Metadata {
  const given = Object.entries(members).filter(([, value]) => value !== null);
  return Object.fromEntries(
    given.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}

function small(metadata: Metadata): Metadata {
  requireSmallMetadata(metadata, '/metadata');
  return metadata;
}
