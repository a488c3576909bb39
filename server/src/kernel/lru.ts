export interface Lru<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): void;
  delete(key: K): boolean;
  clear(): void;
  size(): number;
}

/** Bounded by count; a Map iterates in insertion order, so its first key is the one unused for longest. */
export function createLru<K, V>(max: number): Lru<K, V> {
  if (!Number.isInteger(max) || max < 1) throw new RangeError('an LRU needs room for at least one entry');
  const entries = new Map<K, V>();

  const get = (key: K): V | undefined => {
    const value = entries.get(key);
    if (value === undefined && !entries.has(key)) return undefined;
    entries.delete(key);
    entries.set(key, value as V);
    return value;
  };

  const set = (key: K, value: V): void => {
    entries.delete(key);
    entries.set(key, value);
    if (entries.size <= max) return;
    const oldest = entries.keys().next();
    if (!oldest.done) entries.delete(oldest.value);
  };

  return {
    get,
    set,
    delete: (key) => entries.delete(key),
    clear: () => entries.clear(),
    size: () => entries.size,
  };
}
