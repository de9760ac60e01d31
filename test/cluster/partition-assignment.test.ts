import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  assignPartitions,
  type BrokerOf,
  type GroupMember,
} from "../../src/cluster/membership/partition-assignment.ts";

/** Members by name, each with what it holds since the last round. */
const holders = (held: Record<string, number[]>): GroupMember[] =>
  Object.entries(held).map(([id, own]) => ({ id, generation: 1, held: own }));

/** Rounds until nothing changes: what each is left with is what it says that it holds. */
function settle(members: readonly GroupMember[], partitions: number, brokerOf?: BrokerOf) {
  let current = members;
  for (let round = 1; round < 5; round++) {
    const given = assignPartitions(current, partitions, brokerOf);
    const next = [...given].map(([id, held]) => ({ id, generation: round + 1, held }));
    // A member that is new has nothing to let go of.
    const isSame = next.every(({ id, held }) => {
      return String(current.find((it) => it.id === id)!.held) === String(held);
    });
    if (isSame) return { given, rounds: round - 1 };
    current = next;
  }
  throw new Error("The rounds do not end");
}

const plain = (given: Map<string, number[]>) => Object.fromEntries(given);

describe("partitions are shared out", () => {
  const cases: [string, Record<string, number[]>, number, Record<string, number[]>][] = [
    ["all to one", { a: [] }, 3, { a: [0, 1, 2] }],
    ["evenly to members that are new", { a: [], b: [] }, 4, { a: [0, 1], b: [2, 3] }],
    [
      "to none, where there are more members",
      { a: [], b: [], c: [] },
      2,
      { a: [0], b: [1], c: [] },
    ],
    ["as they were", { a: [1, 3], b: [0, 2] }, 4, { a: [1, 3], b: [0, 2] }],
    ["to those that are left", { a: [0], b: [1] }, 4, { a: [0, 2], b: [1, 3] }],
    ["when the topic has grown", { a: [0], b: [1] }, 3, { a: [0, 2], b: [1] }],
    ["one more to those that hold one more", { a: [0], b: [1, 2] }, 3, { a: [0], b: [1, 2] }],
    ["in the next round, where they move", { a: [0, 1, 2, 3], b: [] }, 4, { a: [0, 1], b: [] }],
    ["to one of two that claim the same", { a: [0, 1], b: [1, 2] }, 4, { a: [0, 1], b: [2, 3] }],
    ["without those that are no more", { a: [0, 1, 2, 7] }, 2, { a: [0, 1] }],
  ];
  test.each(cases)("%s", (_, held, partitions, expected) => {
    expect(plain(assignPartitions(holders(held), partitions))).toEqual(expected);
  });

  test("without the word of a member that missed a round", () => {
    const late = { id: "a", generation: 3, held: [0, 1] };
    const current = { id: "b", generation: 4, held: [0, 1] };
    expect(plain(assignPartitions([late, current], 2))).toEqual({ a: [], b: [0] });
  });
});

test("a partition moves only to a member that can run it and has fewer than its share", () => {
  const members = [
    { id: "a", generation: 1, held: [0, 1, 2, 3, 4] },
    { id: "b", generation: 1, held: [], canRun: new Set([4]) },
    { id: "c", generation: 1, held: [5], canRun: new Set([0, 1, 2, 3, 4, 5]) },
  ];
  // Partitions 3 and 4 move to c and b. Then c has its share, and b can run no other partition.
  expect(plain(assignPartitions(members, 6))).toEqual({ a: [0, 1, 2], b: [], c: [5] });
});

describe("a partition without a member goes", () => {
  type Ability = { canRun?: number[]; refused?: number[]; held?: number[] };
  const member = (id: string, { canRun, refused, held = [] }: Ability): GroupMember => ({
    ...{ id, generation: 1, held },
    ...(canRun && { canRun: new Set(canRun) }),
    ...(refused && { refused: new Set(refused) }),
  });
  const given = (a: Ability, b: Ability, partitions: number) =>
    plain(assignPartitions([member("b", b), member("a", a)], partitions));

  test.each([
    ["to a member that can run it", { canRun: [1] }, { canRun: [0, 1] }, [[1], [0]]],
    ["also to one without room for it", { canRun: [0, 1] }, { canRun: [] }, [[0, 1], []]],
    ["else to one that does not say what it can run", { canRun: [] }, {}, [[1], [0]]],
    [
      "else to one that does not refuse it",
      { canRun: [], refused: [0] },
      { canRun: [], refused: [1] },
      [[1], [0]],
    ],
    [
      "else to the one with the most room",
      { canRun: [], refused: [0, 1] },
      { canRun: [], refused: [0, 1] },
      [[0], [1]],
    ],
    [
      "not to a member that refuses another one",
      { canRun: [1], refused: [0] },
      { canRun: [0, 1] },
      [[], [0, 1]],
    ],
    [
      "also to members that all refuse some",
      { canRun: [0], refused: [1] },
      { canRun: [1], refused: [0] },
      [[0], [1]],
    ],
  ] as [string, Ability, Ability, number[][]][])("%s", (_, a, b, [ofA, ofB]) => {
    expect(given(a, b, 2)).toEqual({ a: ofA!, b: ofB! });
  });

  test("and one that a member refuses stays there while no other can run it", () => {
    const refusing = { canRun: [1], refused: [0], held: [0, 1] };
    expect(given(refusing, { canRun: [1] }, 2)).toEqual({ a: [0], b: [] });
    expect(given(refusing, { canRun: [0, 1] }, 2)).toEqual({ a: [1], b: [] });
    expect(given(refusing, { canRun: [0], refused: [0] }, 2)).toEqual({ a: [0, 1], b: [] });
  });
});

test("up to half of all partitions move at once away from a member that refuses them", () => {
  const refusing = { id: "a", generation: 1, held: [0, 1, 2, 3, 4], canRun: new Set<number>() };
  const well = { id: "b", generation: 1, held: [], canRun: new Set([0, 1, 2, 3, 4]) };
  const after = (refused: number[]) =>
    assignPartitions([{ ...refusing, refused: new Set(refused) }, well], 5).get("a");
  expect(after([0, 1])).toEqual([2, 3, 4]);
  expect(after([0, 1, 2])).toEqual([3, 4]);
  expect(after([0, 1, 2, 3])).toEqual([3, 4]);
});

describe("partitions of one broker run on one member", () => {
  const ofThree: BrokerOf = (partition) => partition % 3;
  /** Number of brokers that lead the partitions of each member. */
  const brokers = (given: Map<string, number[]>) =>
    [...given.values()].map((own) => new Set(own.map(ofThree)).size);

  test("when all join at once", () => {
    const { given } = settle(holders({ a: [], b: [], c: [] }), 12, ofThree);
    expect(brokers(given)).toEqual([1, 1, 1]);
  });

  test("when members join one after the other, leave, and come back", () => {
    const joining = (given: Map<string, number[]>, id: string) =>
      settle(holders({ ...plain(given), [id]: [] }), 12, ofThree).given;
    const one = settle(holders({ a: [] }), 12, ofThree).given;
    const two = joining(one, "c");
    expect(brokers(two)).toEqual([2, 2]);
    const three = joining(two, "b");
    expect(brokers(three)).toEqual([1, 1, 1]);
    const { a: _, ...left } = plain(three);
    const without = settle(holders(left), 12, ofThree).given;
    expect(brokers(without)).toEqual([2, 2]);
    expect(brokers(joining(without, "d"))).toEqual([1, 1, 1]);
  });

  test("also where another member cannot run all of them", () => {
    const members = [
      { id: "a", generation: 1, held: [], canRun: new Set([1, 2, 3]) },
      { id: "b", generation: 1, held: [], canRun: new Set([0, 1, 2, 3]) },
    ];
    const given = assignPartitions(members, 4, (partition) => Math.floor(partition / 2));
    expect(plain(given)).toEqual({ a: [2, 3], b: [0, 1] });
  });

  test("of which none moves for this alone", () => {
    const mixed = { a: [0, 1, 2], b: [3, 4, 5] };
    expect(plain(assignPartitions(holders(mixed), 6, ofThree))).toEqual(mixed);
  });
});

describe("whatever partitions members hold, partitions are assigned", () => {
  /** Each partition is held by one member, or by none. */
  const groups = fc
    .record({
      members: fc.integer({ min: 1, max: 9 }),
      partitions: fc.integer({ min: 1, max: 40 }),
    })
    .chain(({ members, partitions }) => {
      const holder = fc.integer({ min: -1, max: members - 1 });
      return fc
        .array(holder, { minLength: partitions, maxLength: partitions })
        .map((holderOf) => ({ partitions, members: membersOf(holderOf, members) }));
    });
  const byBroker: BrokerOf = (partition) => (partition % 7 === 6 ? undefined : partition % 7);
  const membersOf = (holderOf: number[], members: number): GroupMember[] =>
    Array.from({ length: members }, (_, member) => ({
      id: `member-${member}`,
      generation: 5,
      held: holderOf.flatMap((it, partition) => (it === member ? [partition] : [])),
    }));

  test("evenly, each to one, within two rounds", () => {
    fc.assert(
      fc.property(groups, ({ members, partitions }) => {
        const { given, rounds } = settle(members, partitions, byBroker);
        const counts = [...given.values()].map(({ length }) => length);
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
        const all = [...given.values()].flat().sort((a, b) => a - b);
        expect(all).toEqual(Array.from({ length: partitions }, (_, i) => i));
        expect(rounds).toBeLessThanOrEqual(2);
      }),
    );
  });

  test("moving as few as possible", () => {
    fc.assert(
      fc.property(groups, ({ members, partitions }) => {
        const { given } = settle(members, partitions, byBroker);
        const moved = members.flatMap(({ id, held }) =>
          held.filter((it) => !given.get(id)!.includes(it)),
        );
        // A node above its equal part gives up the excess, and nothing more.
        const least = Math.floor(partitions / members.length);
        const above = members.filter(({ held }) => held.length > least);
        const rest = partitions % members.length;
        const excess = above.reduce((sum, { held }) => sum + held.length - least, 0);
        expect(moved).toHaveLength(excess - Math.min(rest, above.length));
      }),
    );
  });

  test("never to another while its holder has it", () => {
    fc.assert(
      fc.property(groups, ({ members, partitions }) => {
        const given = assignPartitions(members, partitions, byBroker);
        for (const { id, held } of members) {
          for (const [other, own] of given) {
            if (other !== id) expect(own.filter((it) => held.includes(it))).toEqual([]);
          }
        }
      }),
    );
  });

  test("in the same way, in whatever order the members and what they hold come", () => {
    const shuffled = groups.chain(({ members, partitions }) =>
      fc
        .shuffledSubarray(members, { minLength: members.length })
        .map((other) => other.map((it) => ({ ...it, held: it.held.toReversed() })))
        .map((other) => ({ members, other, partitions })),
    );
    fc.assert(
      fc.property(shuffled, ({ members, other, partitions }) => {
        expect(plain(assignPartitions(other, partitions, byBroker))).toEqual(
          plain(assignPartitions(members, partitions, byBroker)),
        );
      }),
    );
  });
});
