import type { Letter } from "./site.ts";

/**
 * Describes faults of the nodes' dead letters in sentences: duplicates, and differences between
 * nodes.
 */
export function lettersFaults(known: readonly (readonly Letter[])[]): string[] {
  const faults: string[] = [];
  const all = known.map((letters) => letters.map(({ eventId }) => eventId).sort());
  for (const [index, ids] of all.entries()) {
    const doubled = ids.filter((id, place) => id === ids[place - 1]);
    if (doubled.length > 0) faults.push(`${doubled.length} doubled dead letters, as ${doubled[0]}`);
    if (!Bun.deepEquals(ids, all[0])) {
      faults.push(`node ${index + 1} knows ${ids.length} dead letters, node 1 ${all[0]!.length}`);
    }
  }
  return faults;
}
