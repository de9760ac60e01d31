import { assert } from "../../assert.ts";

/** Member of the consumer group during a rebalance, with the partitions that it still runs. */
export interface GroupMember {
  id: string;
  /** Number of the last rebalance that assigned partitions to the member; -1 for a new member. */
  generation: number;
  /** Partitions that the previous rebalance assigned to the member, and that it still runs. */
  held: readonly number[];
  /** Partitions that the member refuses because it cannot process them. Absent for none. */
  refused?: ReadonlySet<number>;
  /** Partitions that the member reports it can run. Absent when it reports nothing. */
  canRun?: ReadonlySet<number>;
}

/** Maximum share of all partitions that one rebalance moves away from members that refuse them. */
const REFUSED_SHARE_MAX = 0.5;

/**
 * Returns the id of a partition's preferred leader, the broker that leads the partition while all
 * brokers run. Undefined if it is unknown.
 */
export type BrokerOf = (partition: number) => number | undefined;

/** Partitions that each member keeps or is to get, by member id. */
type Holdings = ReadonlyMap<string, readonly number[]>;
/** A number of partitions for each member, by member id. */
type Counts = ReadonlyMap<string, number>;

/**
 * Computes which partitions each member of the group runs, by member id. Moving a partition takes
 * two rebalances: the first takes the partition from its member, the second assigns it to another.
 * - A member that refuses a partition loses this partition if another member can run it, and gets
 *   no further partitions unless all members refuse some.
 * - The numbers of partitions of the other members differ by at most one.
 * - As few partitions as possible move.
 * - A member's partitions have the same leader (broker) where possible, because a member sends a
 *   fetch to each of their leaders.
 */
export function assignPartitions(
  holders: readonly GroupMember[],
  partitions: number,
  brokerOf: BrokerOf = () => undefined,
): Map<string, number[]> {
  const holderOf = holdersOf(holders, partitions);
  const released = releasedOf(holderOf);
  const members = sorted(holders);
  const kept = new Map(members.map(({ id }): [string, number[]] => [id, []]));
  for (const [partition, id] of holderOf) {
    if (!released.has(partition)) kept.get(id)?.push(partition);
  }
  const quotas = quotasOf(kept);
  const given = withinQuotas(kept, quotas);
  // Moving partitions belong to no member yet, but already take room at one.
  const planned = new Map([...given].map(([id, own]) => [id, [...own]]));
  const room = new Map([...given].map(([id, own]) => [id, quotas.get(id)! - own.length]));
  const taken = new Set([...given.values()].flat());
  const free = Array.from({ length: partitions }, (_, it) => it).filter((it) => !taken.has(it));
  for (const partition of [...Map.groupBy(free, brokerOf).values()].flat()) {
    const { id } = chosenFor(partition, byNeighbours(partition, planned), room);
    room.set(id, room.get(id)! - 1);
    planned.get(id)!.push(partition);
    if (!holderOf.has(partition)) given.get(id)!.push(partition);
  }
  for (const own of given.values()) own.sort((a, b) => a - b);
  const all = [...given.values()].flat();
  assert(new Set(all).size === all.length, "A partition is assigned to at most one member");
  return given;

  /**
   * Returns the refused partitions that this rebalance takes from their members, because others can
   * run them: at most the share `REFUSED_SHARE_MAX` of all partitions.
   */
  function releasedOf(holderOf: ReadonlyMap<number, string>): Set<number> {
    const found = [...holderOf].filter(([partition, id]) => {
      const holder = holders.find((member) => member.id === id)!;
      if (!holder.refused?.has(partition)) return false;
      return holders.some((member) => isWell(member, partition));
    });
    const max = Math.ceil(REFUSED_SHARE_MAX * partitions);
    return new Set(found.slice(0, max).map(([partition]) => partition));
  }

  /**
   * Computes the quota of each member (the number of partitions that it runs), by member id.
   * - A member that refuses partitions gets at most its number in `kept`, unless all members refuse
   *   some.
   * - The others share the rest equally. A remainder goes to those with the most partitions in
   *   `kept`.
   */
  function quotasOf(kept: Holdings): Map<string, number> {
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

  /**
   * Takes partitions away from members that hold more than their quota, but only partitions that a
   * member below its quota can run. Returns the partitions that each member keeps.
   */
  function withinQuotas(kept: Holdings, quotas: Counts): Map<string, number[]> {
    const room = new Map([...kept].map(([id, own]) => [id, quotas.get(id)! - own.length]));
    const left = new Map([...kept].map(([id, own]) => [id, [...own]]));
    for (const [id, own] of left) {
      const groups = [...Map.groupBy(own.toReversed(), brokerOf).values()];
      for (const partition of groups.sort((a, b) => a.length - b.length).flat()) {
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
   * Returns the members, sorted by the number of their partitions that have the same leader
   * (broker) as `partition`: the member with the most first.
   */
  function byNeighbours(partition: number, planned: Holdings): GroupMember[] {
    const broker = brokerOf(partition);
    if (broker === undefined) return members;
    const counts = new Map<string, number>();
    for (const [id, own] of planned) {
      counts.set(id, own.filter((it) => brokerOf(it) === broker).length);
    }
    return members.toSorted((a, b) => counts.get(b.id)! - counts.get(a.id)!);
  }
}

/**
 * Returns the id of the member that holds each partition. A member that missed the last rebalance
 * holds none, because its partitions may belong to others now. If two members report a partition,
 * the lower id holds it.
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
 * Chooses the member that gets a partition: if possible, the first in `members` that can run the
 * partition and has room. `room` is the number of partitions by which each member is below its
 * quota.
 */
function chosenFor(partition: number, members: readonly GroupMember[], room: Counts): GroupMember {
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

/**
 * Returns whether a member reports that it can run a partition, and does not refuse the partition.
 */
const isWell = ({ canRun, refused }: GroupMember, partition: number) =>
  canRun?.has(partition) === true && !refused?.has(partition);

/**
 * Whether a member may get a partition: it can run the partition and does not refuse it, or it does
 * not report which partitions it can run.
 */
const mayRun = (member: GroupMember, partition: number) =>
  member.canRun === undefined || isWell(member, partition);

/**
 * Whether a member refuses partitions. It then gets no further partitions, unless all members
 * refuse some.
 */
const isRestricted = ({ refused }: GroupMember) => refused !== undefined && refused.size > 0;

/**
 * Returns the members sorted by id, so that the assignment is the same whichever member computes it
 * as the group's leader. No two members have the same id.
 */
const sorted = (holders: readonly GroupMember[]) =>
  holders.toSorted((a, b) => (a.id < b.id ? -1 : 1));
