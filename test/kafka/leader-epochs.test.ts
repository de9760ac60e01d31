import { expect, test } from "bun:test";
import {
  latestStatement,
  mostFrequent,
  statementsByPartition,
} from "../../src/kafka/leader-epochs.ts";

/** Statements as `leader` or `leader/epoch`. */
const statements = (text: string) =>
  text.split(" ").map((it) => {
    const [leaderId, leaderEpoch] = it.split("/").map(Number);
    return { leaderId: leaderId!, ...(leaderEpoch !== undefined && { leaderEpoch }) };
  });

test.each([
  ["the highest epoch", "1/5 2/7 3/6", "2/7"],
  ["the highest epoch, against the majority", "1/5 1/5 3/6", "3/6"],
  ["an epoch before none", "2 2 1/0", "1/0"],
  ["a leader before none of the same epoch", "-1/4 -1/4 3/4", "3/4"],
  ["no leader of a later epoch before an earlier leader", "3/4 -1/5", "-1/5"],
  ["the majority of one epoch", "1/4 3/4 3/4", "3/4"],
  ["the majority of one epoch, without the votes of others", "3/1 3/1 1/4 1/4 3/4", "1/4"],
  ["the lowest id of equal votes", "3/4 2/4", "2/4"],
  ["the majority without epochs", "1 3 3", "3"],
])("of statements about a leader, %s is believed", (_, text, expected) => {
  const all = statements(text);
  for (const order of [all, all.toReversed()]) {
    expect(latestStatement(order)).toEqual(statements(expected)[0]!);
  }
});

test("without statements, no leader is known", () => {
  expect(latestStatement([])).toBeUndefined();
});

test("statements are grouped by partition, without numbers that a broker cannot have", () => {
  const of = (broker: string, ...partitions: number[]) =>
    partitions.map((partitionIndex, at) => ({ partitionIndex, by: `${broker}${at}` }));
  const answers = [of("a", 1, 0), of("b", 0, 2, 7), of("c", 0, 0), of("d", -1)];
  const grouped = statementsByPartition(answers);
  expect(grouped.map((all) => all.map(({ by }) => by))).toEqual([
    ["a1", "b0", "c1"],
    ["a0"],
    ["b1"],
  ]);
  expect(statementsByPartition([])).toEqual([]);
});

test("the most frequent text is the last of those that are equally frequent", () => {
  for (const [texts, expected] of [
    ["a", "a"],
    ["b a a", "a"],
    ["a a b", "a"],
    ["b a", "b"],
    ["a b", "b"],
    ["c c b b a", "c"],
  ] as const) {
    expect(mostFrequent(texts.split(" "))).toBe(expected);
  }
});
