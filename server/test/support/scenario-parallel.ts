/** Runs `work` over the items, a few at a time, and gathers what it finds in the order of the items. */
export async function gather<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<readonly R[]>,
): Promise<R[]> {
  const found: (readonly R[])[] = [];
  const queue = items.entries();
  const worker = async () => {
    for (const [index, item] of queue) found[index] = await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return found.flat();
}
