import { expect, test } from "bun:test";
import { type AbilitySources, partitionAbility } from "../../src/backend/partition-ability.ts";
import type { PartitionAccess } from "../../src/cluster/topics/partition-access.ts";
import { judgeReading } from "../../src/cluster/topics/troubles.ts";

const available: PartitionAccess = { state: "available" };
const unreachable: PartitionAccess = { state: "unreachable", leader: "Broker 1 (kafka:9092)" };
const unavailable: PartitionAccess = { state: "unavailable" };
/** Returns the judgement of a node with this access to the topics. */
const judge = (catalog: PartitionAccess, events: PartitionAccess[], sentence?: string) =>
  judgeReading((topic) => (topic === "catalog" ? [catalog] : events), sentence);
const unread = "The event log cannot be read in partitions 1";

test("a node that reads everything has no trouble", () => {
  expect(judge(available, [available])).toEqual({ trouble: undefined, warnings: [] });
});

test("partitions whose leader does not answer a node, or that have none, are a warning up to a half of them, and trouble above", () => {
  const of = (...events: PartitionAccess[]) => judge(available, events, unread);
  const warned = { trouble: undefined, warnings: [unread] };
  const refused = { trouble: unread, warnings: [] };
  expect(of(available, unreachable, available)).toEqual(warned);
  expect(of(available, unreachable)).toEqual(warned);
  expect(of(unreachable, unreachable, available)).toEqual(refused);
  expect(of(available, unavailable)).toEqual(warned);
  expect(of(unavailable, unreachable, available)).toEqual(refused);
});

test("partitions that are not read although their leaders answer are trouble", () => {
  for (const events of [[available], [available, available], []]) {
    expect(judge(available, events, unread)).toEqual({ trouble: unread, warnings: [] });
  }
});

test("a node that does not reach the leader of the catalog has trouble, which names the broker", () => {
  const events = [unreachable, available, available];
  const { trouble } = judge(unreachable, events);
  expect(trouble).toBe(
    "Broker 1 (kafka:9092) does not answer; it leads the catalog, which this node cannot read",
  );
});

test("a catalog's leader that answers late makes a node unwell only once API requests fail, after 5 s", () => {
  for (const [silenceMs, isWell] of [
    [1_100, true],
    [4_900, true],
    [5_000, false],
  ] as const) {
    const access = (topic: string, silentMs: number) => [
      topic === "catalog" && silenceMs >= silentMs ? unreachable : available,
    ];
    expect(judgeReading(access, undefined).trouble === undefined).toBe(isWell);
  }
});

const well = {
  partitions: () => 2,
  access: () => [
    [available, available],
    [available, available],
  ],
  nodeTrouble: () => undefined,
  partitionTrouble: () => undefined,
  sandboxTrouble: () => undefined,
  isWaitingForSandbox: () => false,
};
const ability = (facts: Partial<AbilitySources>) => {
  const { troubles, canRun } = partitionAbility({ ...well, ...facts });
  return { troubles: [...troubles], canRun };
};

test("a node runs each partition whose parts work, and says what fails of the others", () => {
  expect(ability({})).toEqual({ troubles: [], canRun: [0, 1] });
  const partitionTrouble = (partition: number) => (partition === 1 ? "ledger" : undefined);
  expect(ability({ partitionTrouble })).toEqual({ troubles: [[1, "ledger"]], canRun: [0] });
  const nodeTrouble = () => "disk";
  const both = [
    [0, "disk"],
    [1, "disk"],
  ];
  expect(ability({ nodeTrouble, partitionTrouble }).troubles).toEqual(both as [number, string][]);
  const access = () => [
    [available, unreachable],
    [unavailable, available],
  ];
  const silent = "Broker 1 (kafka:9092), which leads partition 1, does not answer";
  expect(ability({ access, partitionTrouble })).toEqual({ troubles: [[1, silent]], canRun: [] });
});

test("a node without guests takes no partition, and gives up those whose events wait for a guest", () => {
  const sandboxTrouble = () => "no guest";
  const isWaitingForSandbox = (partition: number) => partition === 0;
  expect(ability({ sandboxTrouble, isWaitingForSandbox })).toEqual({
    troubles: [[0, "no guest"]],
    canRun: [],
  });
  expect(ability({ isWaitingForSandbox }).canRun).toEqual([0, 1]);
});
