/** Returns a function that returns the values of the map in turn; undefined when it is empty. */
export function roundRobin<T>(map: ReadonlyMap<string, T>): () => T | undefined {
  let values = map.values();
  return () => {
    const next = values.next();
    if (next.done === false) return next.value;
    values = map.values();
    return values.next().value;
  };
}
