import { expect, test } from "bun:test";
import type { PartitionAccess } from "../../src/cluster/topics/partition-access.ts";
import { judgeReading } from "../../src/cluster/topics/reading-trouble.ts";

const available: PartitionAccess = { state: "available" };
const unreachable: PartitionAccess = { state: "unreachable", leader: "kafka:9092" };
const unavailable: PartitionAccess = { state: "unavailable" };
/** Returns the judgement of a node with this access to the topics. */
const judge = (catalog: PartitionAccess, events: PartitionAccess[], sentence?: string) =>
  judgeReading((topic) => (topic === "catalog" ? [catalog] : events), sentence);
const unread = "The event log cannot be read in partitions 1";

test("a node that reads everything has no trouble", () => {
  expect(judge(available, [available])).toEqual({ trouble: undefined, warnings: [] });
});

test("partitions whose leader does not answer a node are a warning up to a half of them, and trouble above", () => {
  const of = (...events: PartitionAccess[]) => judge(available, events, unread);
  const warned = { trouble: undefined, warnings: [unread] };
  const refused = { trouble: unread, warnings: [] };
  expect(of(available, unreachable, available)).toEqual(warned);
  expect(of(available, unreachable)).toEqual(warned);
  expect(of(unreachable, unreachable, available)).toEqual(refused);
});

test("partitions that are not read although their leaders answer, or that have none, are trouble", () => {
  for (const events of [[available], [available, unavailable], []]) {
    expect(judge(available, events, unread)).toEqual({ trouble: unread, warnings: [] });
  }
});

test("a node that does not reach the leader of the catalog has trouble, which names the broker", () => {
  const events = [unreachable, available, available];
  const { trouble } = judge(unreachable, events);
  expect(trouble).toBe("Broker kafka:9092, which leads the catalog, does not answer this node");
});
