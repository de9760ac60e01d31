/**
 * Returns a function that caches the results of `make` by key. When the cache has `max` results and
 * a new one is needed, all of them are removed first.
 */
export function remembered<Key, Result>(
  max: number,
  make: (key: Key) => Result,
): (key: Key) => Result {
  const known = new Map<Key, Result>();
  return (key) => {
    const before = known.get(key);
    if (before !== undefined || known.has(key)) return before as Result;
    const made = make(key);
    if (known.size >= max) known.clear();
    known.set(key, made);
    return made;
  };
}
