/**
 * Creates a function that returns the map's next `count` values. After the last value, it continues
 * with the first. One call returns each value at most once.
 */
export function roundRobin<T>(map: ReadonlyMap<string, T>): (count: number) => T[] {
  let values = map.values();
  return (count) => {
    const taken = [...values.take(Math.min(count, map.size))];
    if (taken.length === Math.min(count, map.size)) return taken;
    values = map.values();
    return [...taken, ...values.take(Math.min(count, map.size) - taken.length)];
  };
}
