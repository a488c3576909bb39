import { ulid } from '../kernel/ulid.ts';
import { type ObjectStore, ObjectStoreError } from './object-store.ts';

/** Everything the service will ask of a store, with an object of its own. */
export async function probe(store: Omit<ObjectStore, 'check'>): Promise<void> {
  const key = `probe/${ulid()}`;
  const content = Buffer.from(key);
  await store.put(key, content);
  const found = await store.get(key);
  await store.delete(key);
  if (found === null || !content.equals(found))
    throw new ObjectStoreError('it did not give back what was written', true);
}
