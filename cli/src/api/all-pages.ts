const pageSize = 200;

export interface Page<T> {
  readonly items: readonly T[];
  readonly total: number;
}

/** Reads a list to its end. */
export async function allPages<T>(
  read: (page: { limit: number; offset: number }) => Promise<Page<T>>,
): Promise<T[]> {
  const items: T[] = [];
  for (;;) {
    const page = await read({ limit: pageSize, offset: items.length });
    items.push(...page.items);
    if (page.items.length === 0 || items.length >= page.total) return items;
  }
}
