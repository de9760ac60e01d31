/**
 * Runs work on the same key one after another, in the order of the calls; other keys do not wait.
 * Otherwise two updates of one transformation at the same time would both start from the same
 * revision, and the fields that one of them changed would be lost.
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
