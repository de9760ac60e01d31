/**
 * Maps items with an asynchronous function. At most `concurrency` of its calls run at a time. The
 * results have the order of the items.
 */
export async function pooledMap<T, R>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = new Array(items.length);
  const left = items.entries();
  async function worker(): Promise<void> {
    for (const [index, item] of left) results[index] = await work(item);
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker));
  return results;
}
