import { afterAll, beforeAll, expect, test } from "bun:test";
import { judgeTopics } from "../../src/cluster/topics/topic-health.ts";
import { judgeReading } from "../../src/cluster/topics/troubles.ts";
import { ClusterView } from "../../src/kafka/cluster-view.ts";
import type { MetadataAnswer } from "../../src/kafka/library.ts";
import { startAlertScene, startReceiver, type TestReceiver, until } from "./_scene.ts";

const ADDRESSES = ["a:1", "b:2", "c:3"];

/** Answer of a broker: which brokers it lists, who leads the catalog, and who has a copy. */
function answer(listed: readonly number[], leaderId: number, leaderEpoch: number): MetadataAnswer {
  return {
    ...{ throttleTimeMs: 0, clusterId: "cluster", controllerId: listed[0]! },
    brokers: listed.map((nodeId) => {
      const [host, port] = ADDRESSES[nodeId]!.split(":");
      return { nodeId, host: host!, port: Number(port), rack: null };
    }),
    topics: [
      {
        ...{ errorCode: 0, name: "p.catalog", topicId: "id", isInternal: false },
        topicAuthorizedOperations: 0,
        partitions: [
          {
            ...{ errorCode: 0, partitionIndex: 0, leaderId, leaderEpoch },
            ...{ replicaNodes: [0, 1, 2], isrNodes: [...listed], offlineReplicas: [] },
          },
        ],
      },
    ],
  };
}

/** Brokers as a node sees them. Broker 0 leads the catalog at first. */
const view = new ClusterView();
let silent: string[] = [];
let epoch = 1;
/** Tells how the brokers answer: all of them, or without broker 0, before or after an election. */
function see(state: "whole" | "cut" | "elected") {
  if (state !== "cut") epoch++;
  silent = state === "whole" ? [] : [ADDRESSES[0]!];
  const listed = state === "whole" ? [0, 1, 2] : [1, 2];
  for (const it of silent) view.drop(it);
  for (const id of listed)
    view.take(ADDRESSES[id]!, answer(listed, state === "elected" ? 1 : 0, epoch));
}
const topics = judgeTopics({
  clients: {
    unresponsiveBrokers: () => silent,
    ...{ foreignBrokers: () => [], outdatedBrokers: () => [], view },
  },
  topics: () => [{ name: "p.catalog", replicas: 3, isVital: true, remedy: "restore it" }],
});
/** The node's readiness, by what it reads and by the state of the brokers. */
function ready(isLeaderSilent: boolean) {
  const leader = view.nameOf(ADDRESSES[0]!);
  const { trouble } = judgeReading(
    () => [isLeaderSilent ? { state: "unreachable", leader } : { state: "available" }],
    undefined,
  );
  scene.api.readiness.checks = {
    cluster: trouble === undefined ? { ok: true } : { ok: false, message: trouble },
  };
  scene.api.readiness.warnings = topics.warnings();
}

let receiver: TestReceiver;
let scene: Awaited<ReturnType<typeof startAlertScene>>;
beforeAll(async () => {
  receiver = startReceiver();
  scene = await startAlertScene();
  // The first receiver creates the rules.
  const body = { name: "On call", type: "webhook", url: receiver.url };
  await scene.call("POST", "/v2/alerts/receivers", body);
});
afterAll(async () => {
  await scene.api.stop();
  receiver.stop();
});

const open = async () => (await scene.call("GET", "/v2/alerts?state=open")).alerts;
const kinds = async () => (await open()).map(({ kind }: { kind: string }) => kind);
const rows = async () =>
  (await scene.call("GET", "/v2/overview")).problems
    .filter(({ message }: { message: string }) => message.includes("Broker 0"))
    .map(({ kind }: { kind: string }) => kind);

test("alerts about a broker begin once while it is cut off, and end once it is back", async () => {
  see("whole");
  ready(false);
  await scene.pass(600);
  expect(await kinds()).toEqual([]);

  see("cut");
  ready(true);
  expect(await rows()).toEqual(["not-ready"]);
  await scene.pass(60);
  expect(await kinds()).toEqual(["server-not-ready"]);
  expect(await rows()).toEqual(["not-ready"]);
  expect((await open())[0].message).toContain(
    "Broker 0 (a:1) does not answer; it leads the catalog",
  );

  // Another broker leads the catalog now, and the copy of the lost one is missing.
  see("elected");
  ready(false);
  expect(await rows()).toEqual(["warning"]);
  await scene.pass(600);
  expect(await kinds()).toEqual(["server-warning"]);
  expect(await rows()).toEqual(["warning"]);

  see("whole");
  ready(false);
  expect(await rows()).toEqual([]);
  await scene.pass(600);
  expect(await kinds()).toEqual([]);
  await until(() => receiver.got.length >= 4);
  await scene.pass(600);
  const told = receiver.got.map(({ body }) => [body.type, body.alert.kind]);
  expect(told).toEqual([
    ["alert.began", "server-not-ready"],
    ["alert.ended", "server-not-ready"],
    ["alert.began", "server-warning"],
    ["alert.ended", "server-warning"],
  ]);
});
