import { assert } from "../../assert.ts";

/** Member of the group during a rebalance, with the partitions that it still runs. */
export interface GroupMember {
  id: string;
  /** Number of the last rebalance that assigned partitions to the member; -1 for a new member. */
  generation: number;
  /** Partitions that the last rebalance assigned to the member and that it still runs. */
  held: readonly number[];
  /** Partitions that the member refuses, because it cannot do their work. Absent: none. */
  refused?: ReadonlySet<number>;
  /** Partitions that the member reports it can run. Absent: the member reports nothing. */
  canRun?: ReadonlySet<number>;
}

/** Largest share of the partitions that one rebalance takes from members that refuse them. */
const REFUSED_SHARE_MAX = 0.5;

/**
 * Computes which partitions each member of the group runs, by member id. The fewest possible
 * partitions move. A moving partition is assigned to no member in this rebalance, so that its present
 * holder stops it first. The next rebalance assigns it.
 *
 * A member that refuses a partition loses it if another member can run it, and otherwise keeps it.
 * While a member refuses any partition, it gets no others. The numbers of partitions of the other
 * members differ by at most one.
 */
export function assignPartitions(
  holders: readonly GroupMember[],
  partitions: number,
): Map<string, number[]> {
  const holderOf = holdersOf(holders, partitions);
  const released = releasedOf(holders, holderOf, partitions);
  const kept = new Map(sorted(holders).map(({ id }): [string, number[]] => [id, []]));
  for (const [partition, id] of holderOf) {
    if (!released.has(partition)) kept.get(id)?.push(partition);
  }
  const quotas = quotasOf(holders, kept, partitions);
  const given = withinQuotas(sorted(holders), kept, quotas);
  const room = new Map([...given].map(([id, own]) => [id, quotas.get(id)! - own.length]));
  const taken = new Set([...given.values()].flat());
  for (let partition = 0; partition < partitions; partition++) {
    if (taken.has(partition)) continue;
    const { id } = chosenFor(partition, sorted(holders), room);
    room.set(id, room.get(id)! - 1);
    if (!holderOf.has(partition)) given.get(id)!.push(partition);
  }
  for (const own of given.values()) own.sort((a, b) => a - b);
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

/** Finds the partitions that their holders refuse and other members can run, up to a share. */
function releasedOf(
  holders: readonly GroupMember[],
  holderOf: ReadonlyMap<number, string>,
  partitions: number,
): Set<number> {
  const found = [...holderOf].filter(([partition, id]) => {
    const holder = holders.find((member) => member.id === id)!;
    if (!holder.refused?.has(partition)) return false;
    return holders.some((member) => member.id !== id && isWell(member, partition));
  });
  const max = Math.ceil(REFUSED_SHARE_MAX * partitions);
  return new Set(found.slice(0, max).map(([partition]) => partition));
}

/**
 * Takes partitions from the members that hold more than their quota, as far as members that hold less
 * can run them. Returns what each member is left with.
 */
function withinQuotas(
  members: readonly GroupMember[],
  kept: ReadonlyMap<string, readonly number[]>,
  quotas: ReadonlyMap<string, number>,
): Map<string, number[]> {
  const room = new Map([...kept].map(([id, own]) => [id, quotas.get(id)! - own.length]));
  const left = new Map([...kept].map(([id, own]) => [id, [...own]]));
  for (const [id, own] of left) {
    for (const partition of own.toReversed()) {
      if (own.length <= quotas.get(id)!) break;
      const taker = members.find((it) => room.get(it.id)! > 0 && mayRun(it, partition));
      if (taker === undefined) continue;
      room.set(taker.id, room.get(taker.id)! - 1);
      own.splice(own.indexOf(partition), 1);
    }
  }
  return left;
}

/**
 * Chooses the member that gets a partition: one that can run it, and has room if possible. `room` is
 * the number of partitions that a member lacks, by member id.
 */
function chosenFor(
  partition: number,
  members: readonly GroupMember[],
  room: ReadonlyMap<string, number>,
): GroupMember {
  const hasRoom = ({ id }: GroupMember) => room.get(id)! > 0;
  const withRoom = members.filter(hasRoom);
  const byRoom = members.toSorted((a, b) => room.get(b.id)! - room.get(a.id)!);
  const able = byRoom.filter((member) => isWell(member, partition));
  return (
    members.find((member) => hasRoom(member) && isWell(member, partition)) ??
    withRoom.find(({ canRun }) => canRun === undefined) ??
    able[0] ??
    withRoom.find(({ refused }) => !refused?.has(partition)) ??
    byRoom[0]!
  );
}

/** Whether a member reports that it can run a partition, and does not refuse it. */
const isWell = ({ canRun, refused }: GroupMember, partition: number) =>
  canRun?.has(partition) === true && !refused?.has(partition);

/** Whether a member can run a partition, or reports nothing. */
const mayRun = (member: GroupMember, partition: number) =>
  member.canRun === undefined || isWell(member, partition);

/** Whether a member gets no partitions beside those that it holds, while others can run them. */
const isRestricted = ({ refused }: GroupMember) => refused !== undefined && refused.size > 0;

/**
 * Computes how many partitions each member runs. Members that refuse partitions run at most as many
 * as they keep. If the others' partitions do not divide evenly, those that hold most of them run one
 * more than the others.
 */
function quotasOf(
  holders: readonly GroupMember[],
  kept: ReadonlyMap<string, number[]>,
  partitions: number,
): Map<string, number> {
  const refusing = new Set(holders.filter(isRestricted).map(({ id }) => id));
  if (refusing.size === holders.length) refusing.clear();
  const most = Math.ceil(partitions / kept.size);
  const restricted = [...kept].filter(([id]) => refusing.has(id));
  const quotas = new Map(restricted.map(([id, own]) => [id, Math.min(own.length, most)]));
  const rest = partitions - quotas.values().reduce((sum, quota) => sum + quota, 0);
  const others = [...kept].filter(([id]) => !refusing.has(id));
  const least = Math.floor(rest / others.length);
  const more = rest % others.length;
  const byHeld = others.sort(([, a], [, b]) => b.length - a.length);
  for (const [index, [id]] of byHeld.entries()) quotas.set(id, index < more ? least + 1 : least);
  return quotas;
}

/** Returns the members sorted by id, so that each possible leader computes the same assignment. */
const sorted = (holders: readonly GroupMember[]) =>
  holders.toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
