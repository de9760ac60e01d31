import { assert } from "../../assert.ts";

/** Claim of a member when it joins the group. */
export interface GroupMember {
  id: string;
  /** The last round in which it was given partitions; -1 for one that is new. */
  generation: number;
  /** Partitions that it was given then and still holds. */
  held: readonly number[];
}

/**
 * Partitions of each member, by its id: at most one more for some than for others, and as few as
 * possible move. A partition that moves is unassigned in the round in which its holder releases
 * it; its new owner gets it in the next round.
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
 * Who holds a partition. One that missed a round may have been replaced in it, so that its word
 * does not count; of two that claim a partition the first counts.
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

/** Number of partitions of each member; members that hold the most get the remainder. */
function quotasOf(kept: Map<string, number[]>, partitions: number): Map<string, number> {
  const least = Math.floor(partitions / kept.size);
  const more = partitions % kept.size;
  const byHeld = [...kept].sort(([, a], [, b]) => b.length - a.length);
  return new Map(byHeld.map(([id], index) => [id, index < more ? least + 1 : least]));
}

/** The same for whoever computes it. */
const sorted = (holders: readonly GroupMember[]) =>
  holders.toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
