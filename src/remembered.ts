/**
 * Returns a function that returns what `make` returns for a key, and makes it only once for keys
 * that come again and again. It remembers at most `max` results, and forgets all before one more.
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
