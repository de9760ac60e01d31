/**
 * Runs work on the same key one after another, in the order of the calls; other keys do not wait.
 * Otherwise of many updates of one transformation at the same time each would amend the same
 * revision, and all but one would have to be done, and tested, again.
 */
export function createTurns(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const before = last.get(key) ?? Promise.resolve();
    const turn = before.catch(() => {}).then(work);
    last.set(key, turn);
    try {
      return await turn;
    } finally {
      if (last.get(key) === turn) last.delete(key);
    }
  };
}

/** Maps with at most `atOnce` calls under way; results in the order of the items. */
export async function mapAtOnce<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = new Array(items.length);
  const left = items.entries();
  async function worker(): Promise<void> {
    for (const [index, item] of left) results[index] = await work(item);
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return results;
}
