import { assert } from "../../assert.ts";

/** Member of the group during a rebalance, with the partitions that it still runs. */
export interface GroupMember {
  id: string;
  /** Number of the last rebalance that assigned partitions to the member; -1 for a new member. */
  generation: number;
  /** Partitions that the last rebalance assigned to the member and that it still runs. */
  held: readonly number[];
}

/**
 * Computes which partitions each member of the group runs, by member id. The numbers of partitions
 * differ by at most one, and as few partitions as possible move. A moving partition is assigned to
 * no member in this rebalance, so that its present holder stops it first. The next rebalance
 * assigns it.
 */
export function assignPartitions(
  holders: readonly GroupMember[],
  partitions: number,
): Map<string, number[]> {
  const holderOf = holdersOf(holders, partitions);
  const kept = new Map(sorted(holders).map(({ id }): [string, number[]] => [id, []]));
  for (const [partition, id] of holderOf) kept.get(id)?.push(partition);
  const quotas = quotasOf(kept, partitions);
  const given = new Map([...kept].map(([id, own]) => [id, own.slice(0, quotas.get(id))]));
  const taken = new Set([...given.values()].flat());
  const free = Array.from({ length: partitions }, (_, i) => i).filter((it) => !taken.has(it));
  for (const [id, own] of given) {
    const wanted = free.splice(0, quotas.get(id)! - own.length);
    own.push(...wanted.filter((it) => !holderOf.has(it)));
    own.sort((a, b) => a - b);
  }
  const all = [...given.values()].flat();
  assert(new Set(all).size === all.length, "A partition is assigned to at most one member");
  return given;
}

/**
 * Finds the member that holds each partition, by partition. Ignores members that missed the last
 * rebalance, because that rebalance may have assigned their partitions to others. When two members
 * claim the same partition, the member with the lower id holds it.
 */
function holdersOf(holders: readonly GroupMember[], partitions: number): Map<number, string> {
  const last = Math.max(...holders.map(({ generation }) => generation));
  const current = sorted(holders).filter(({ generation }) => generation === last);
  const found = new Map<number, string>();
  for (const { id, held } of current) {
    for (const it of held) if (it < partitions && !found.has(it)) found.set(it, id);
  }
  return new Map([...found].sort(([a], [b]) => a - b));
}

/**
 * Computes how many partitions each member runs. If the partitions do not divide evenly, the
 * members that hold most partitions run one more than the others.
 */
function quotasOf(kept: Map<string, number[]>, partitions: number): Map<string, number> {
  const least = Math.floor(partitions / kept.size);
  const more = partitions % kept.size;
  const byHeld = [...kept].sort(([, a], [, b]) => b.length - a.length);
  return new Map(byHeld.map(([id], index) => [id, index < more ? least + 1 : least]));
}

/** Returns the members sorted by id, so that each possible leader computes the same assignment. */
const sorted = (holders: readonly GroupMember[]) =>
  holders.toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
