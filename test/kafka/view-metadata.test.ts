import { expect, test } from "bun:test";
import * as kafka from "@platformatic/kafka";
import { ClusterView } from "../../src/kafka/cluster-view.ts";
import type { MetadataAnswer } from "../../src/kafka/library.ts";
import { leaveOutForeignTopics, useClusterView } from "../../src/kafka/view-metadata.ts";

function answerOf(name: string, errorCode: number, leaders: readonly number[]): MetadataAnswer {
  const partitions = leaders.map((leaderId, partitionIndex) => ({
    ...{ errorCode: 0, partitionIndex, leaderId, leaderEpoch: 0 },
    ...{ replicaNodes: [], isrNodes: [], offlineReplicas: [] },
  }));
  const topic = { name, errorCode, topicId: "id", isInternal: false, partitions };
  return {
    ...{ throttleTimeMs: 0, clusterId: "c", controllerId: 1 },
    brokers: [{ nodeId: 1, host: "one", port: 9092, rack: null }],
    topics: [{ ...topic, topicAuthorizedOperations: 0 }],
  };
}

/** A client whose view gets the next of `answers` with each refresh; undefined is a failure. */
function clientOf(answers: (MetadataAnswer | undefined)[], retries: number) {
  const view = new ClusterView();
  const bootstrapBrokers = ["one:9092"];
  const client = new kafka.Base({ clientId: "test", bootstrapBrokers, retries, retryDelay: 1 });
  let refreshed = 0;
  const health = {
    view,
    async refresh() {
      const answer = answers[refreshed++];
      if (answer === undefined) throw new kafka.NetworkError("No broker answers");
      view.take("one:9092", answer);
    },
  };
  useClusterView(kafka, client, health);
  return { client, view, refreshed: () => refreshed };
}

const leaders = async (client: kafka.Base, isForced = false) => {
  const { topics } = await client.metadata({ topics: ["t"], forceUpdate: isForced });
  return topics.get("t")!.partitions.map(({ leader }) => leader);
};

test("a client asks once for a topic, and then knows what the brokers last answered", async () => {
  const { client, view, refreshed } = clientOf([answerOf("t", 0, [1, 2])], 0);
  expect(await leaders(client)).toEqual([1, 2]);
  view.take("one:9092", answerOf("t", 0, [3, 2]));
  expect(await leaders(client)).toEqual([3, 2]);
  expect(client.currentMetadata!.brokers.get(1)).toMatchObject({ host: "one" });
  expect(refreshed()).toBe(1);
});

test("a client asks again when it must, and after it has cleared its metadata", async () => {
  const { client, refreshed } = clientOf(Array(3).fill(answerOf("t", 0, [1])), 0);
  await leaders(client);
  await leaders(client, true);
  client.clearMetadata();
  await leaders(client);
  await leaders(client);
  expect(refreshed()).toBe(3);
});

test("a client that must know the brokers alone does not ask again", async () => {
  const { client, refreshed } = clientOf([answerOf("t", 0, [1])], 0);
  for (let n = 0; n < 3; n++) {
    const { brokers } = await client.metadata({ topics: [], forceUpdate: true });
    expect(brokers.get(1)).toMatchObject({ host: "one" });
  }
  expect(refreshed()).toBe(1);
});

test("a client asks again while no broker answers or a topic is unknown", async () => {
  const answers = [undefined, answerOf("t", 3, []), answerOf("t", 0, [1])];
  const { client, refreshed } = clientOf(answers, 2);
  expect(await leaders(client)).toEqual([1]);
  expect(refreshed()).toBe(3);
});

test("a client names the topic that no broker knows", async () => {
  const { client } = clientOf(Array(2).fill(answerOf("t", 3, [])), 1);
  await expect(leaders(client)).rejects.toThrow("Unknown topic t");
});

test("a client that does not ask again reports why no broker answers", async () => {
  const { client } = clientOf([], 0);
  await expect(leaders(client)).rejects.toThrow("No broker answers");
});

test("a client without answers has no metadata, and then that of the view", async () => {
  const { client, view } = clientOf([answerOf("t", 0, [1, -1])], 0);
  expect(client.currentMetadata).toBeUndefined();
  const { id, controllerId, brokers, topics } = await client.metadata({ topics: ["t"] });
  expect([id, controllerId, [...brokers.keys()]]).toEqual(["c", 1, [1]]);
  expect(topics.get("t")!.partitions.map(({ leader }) => leader)).toEqual([1, -1]);
  view.drop("one:9092");
  expect(client.currentMetadata).toBeUndefined();
});

test("a topic that the brokers refuse is an error with their code", async () => {
  const { client, refreshed } = clientOf([answerOf("t", 29, [])], 0);
  const error = await client.metadata({ topics: ["t"] }).catch((thrown) => thrown);
  expect(kafka.findErrorBy(error, "apiCode", 29)).not.toBeNull();
  expect(refreshed()).toBe(1);
});

test("a member asks only for the topics that it reads, and finds those of others without partitions", async () => {
  const kMetadata = Symbol("metadata");
  const asked: object[] = [];
  let failure: Error | undefined;
  const own = { id: "own", partitions: [], partitionsCount: 3, lastUpdate: 5 };
  type Done = (error: Error | null, found?: { topics: Map<string, object> }) => void;
  const consumer = {
    topics: { current: ["own", "other"] },
    [kMetadata](options: object, done: Done) {
      asked.push(options);
      if (failure) done(failure);
      else done(null, { lastUpdate: 5, topics: new Map([["own", own]]) } as never);
    },
  };
  leaveOutForeignTopics({ kMetadata } as never, consumer as never);
  const ask = (options: object) =>
    new Promise<Map<string, object>>((resolve, reject) => {
      consumer[kMetadata](options, (error, found) =>
        error ? reject(error) : resolve(found!.topics),
      );
    });
  const found = await ask({ topics: ["own", "foreign"], forceUpdate: true });
  expect(asked).toEqual([{ topics: ["own"], forceUpdate: true }]);
  const none = { id: "", partitions: [], partitionsCount: 0, lastUpdate: 5 };
  expect([...found]).toEqual([
    ["own", own],
    ["foreign", none],
  ]);
  expect([...(await ask({}))]).toEqual([["own", own]]);
  failure = new Error("No broker");
  await expect(ask({ topics: ["own"] })).rejects.toBe(failure);
});
