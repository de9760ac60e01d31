/**
 * Returns a function that returns the result of `make` for a key, and keeps it for later calls with
 * the same key. When it has `max` results and needs a new one, it first forgets all of them.
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
