import { type EntityType, entityTypes } from '@lintel/contract/entities';
import { invalid } from '../../kernel/app-error.ts';

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
