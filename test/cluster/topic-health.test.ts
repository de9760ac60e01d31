import { expect, test } from "bun:test";
import { judgeTopics } from "../../src/cluster/topics/topic-health.ts";
import { ClusterView } from "../../src/kafka/cluster-view.ts";
import type { MetadataAnswer } from "../../src/kafka/library.ts";

const ADDRESSES = ["a:1", "b:2", "c:3"];

interface Statement {
  leader: number;
  epoch?: number;
  isr?: number[];
}

/** Answer of a broker about the topic `p.events`. */
function answer(statements: Statement[] | number, listed = [0, 1, 2]): MetadataAnswer {
  const isCode = typeof statements === "number";
  const partitions = isCode ? [] : statements;
  return {
    throttleTimeMs: 0,
    brokers: listed.map((nodeId) => {
      const [host, port] = ADDRESSES[nodeId]!.split(":");
      return { nodeId, host: host!, port: Number(port), rack: null };
    }),
    clusterId: "cluster",
    controllerId: 0,
    topics: [
      {
        errorCode: isCode ? statements : 0,
        name: "p.events",
        topicId: isCode ? "" : "id",
        isInternal: false,
        topicAuthorizedOperations: 0,
        partitions: partitions.map(({ leader, epoch = 1, isr = [0, 1, 2] }, partitionIndex) => ({
          ...{ errorCode: 0, partitionIndex, leaderId: leader, leaderEpoch: epoch },
          ...{ replicaNodes: [0, 1, 2], isrNodes: isr, offlineReplicas: [] },
        })),
      },
    ],
  } as unknown as MetadataAnswer;
}

/** Health of the topic after each broker has answered, and some time has passed. */
function health(answers: (MetadataAnswer | undefined)[]) {
  const view = new ClusterView();
  for (const [at, it] of answers.entries()) if (it) view.take(ADDRESSES[at]!, it);
  return judgeTopics({
    clients: {
      unresponsiveBrokers: () => ADDRESSES.filter((_, at) => answers[at] === undefined),
      foreignBrokers: () => view.foreign(),
      outdatedBrokers: () => view.outdated().map((it) => ({ ...it, forMs: it.forMs + 10_000 })),
      view,
    },
    topics: () => [{ name: "p.events", replicas: 3, remedy: "restore it" }],
  });
}

test("a broker that is cut off from the others is named, with the leaders that it believes in", () => {
  const before = [{ leader: 0 }, { leader: 0 }, { leader: 1 }];
  const after = [
    { leader: 1, epoch: 2, isr: [1, 2] },
    { leader: 2, epoch: 2, isr: [1, 2] },
    { leader: 1, epoch: 1, isr: [1, 2] },
  ];
  const { warnings } = health([answer(before), answer(after, [1, 2]), answer(after, [1, 2])]);
  const [first, ...others] = warnings();
  expect(first).toBe(
    "Broker a:1 disagrees with the other brokers on who leads and they do not list it, it names a:1 and not b:2 for p.events 0, a:1 and not c:3 for p.events 1: check its network to them",
  );
  expect(others).toEqual(["p.events lacks copies on broker 0, in partitions 0, 1, 2"]);
});

test("no sentence names a broker that answers as the others do", () => {
  const same = [{ leader: 0 }, { leader: 1 }];
  expect(health([answer(same), answer(same), answer(same)]).warnings()).toEqual([]);
  expect(health([undefined, answer(same), answer(same)]).warnings()).toEqual([
    "Broker a:1 does not answer",
  ]);
});

test("a topic is missing only when brokers answer that it does not exist", () => {
  const missing = "The topic p.events does not exist: restore it";
  const there = answer([{ leader: 0 }]);
  expect(health([answer(3), answer(3), answer(3)]).missing("p.events")).toBe(missing);
  expect(health([undefined, undefined, answer(3)]).missing("p.events")).toBe(missing);
  for (const answers of [
    [there, there, there],
    [undefined, undefined, undefined],
  ]) {
    expect(health(answers).missing("p.events")).toBeUndefined();
  }
  expect(health([answer(29), answer(29), answer(29)]).missing("p.events")).toContain("the right");
  expect(health([answer(3), answer(3), answer(3)]).warnings()).toEqual([]);
});
