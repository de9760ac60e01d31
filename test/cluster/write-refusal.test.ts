import { describe, expect, test } from "bun:test";
import { nameNumbers } from "../../src/cluster/topics/number-list.ts";
import { accessOf, partitionAccess } from "../../src/cluster/topics/partition-access.ts";
import { TopicIdentity, TopicRecreated } from "../../src/cluster/topics/topic-identity.ts";
import { apiIdOf, describeWriteRefusal } from "../../src/cluster/topics/write-refusal.ts";
import type { ClusterView } from "../../src/kafka/cluster-view.ts";

describe("the reason why a batch is not written", () => {
  const refused = (apiId: string) => Object.assign(new Error("refused"), { apiId });
  const of = (error: unknown, broker: string | undefined = "a:1", leader?: string) =>
    describeWriteRefusal({ leader, broker, error });

  test.each([
    ["NOT_ENOUGH_REPLICAS", "has too few replicas in sync"],
    ["NOT_ENOUGH_REPLICAS_AFTER_APPEND", "has too few replicas in sync"],
    ["REQUEST_TIMED_OUT", "does not get the acknowledgement of its replicas"],
    ["NOT_LEADER_OR_FOLLOWER", "answers that it does not lead"],
    ["FENCED_LEADER_EPOCH", "answers that it does not lead"],
    ["UNKNOWN_TOPIC_OR_PARTITION", "answers that the topic does not exist"],
    ["UNKNOWN_TOPIC_ID", "answers that the topic does not exist"],
    ["KAFKA_STORAGE_ERROR", "cannot write its disk"],
    ["TOPIC_AUTHORIZATION_FAILED", "denies this node the right to write"],
    ["CLUSTER_AUTHORIZATION_FAILED", "denies this node the right to write"],
    ["MESSAGE_TOO_LARGE", "answers MESSAGE_TOO_LARGE"],
  ])("is what the broker that got it answers with %s", (apiId, reason) => {
    expect(of(refused(apiId), "a:1", "a:1")).toBe(`broker a:1, which leads, ${reason}`);
    expect(of(refused(apiId), "a:1", "b:2")).toBe(`broker a:1, which led before, ${reason}`);
  });

  test("is a broker without an answer, or the leader before a batch was sent", () => {
    expect(of(new Error("closed"), "a:1", "a:1")).toBe(
      "broker a:1, which leads, does not answer this node",
    );
    expect(describeWriteRefusal({ leader: "a:1", broker: undefined, error: undefined })).toBe(
      "broker a:1, which leads, does not answer this node",
    );
  });

  test("is the lack of a leader, of the topic, or of an id for the producer", () => {
    const unknown = "the brokers answer that the topic does not exist";
    expect(of(undefined)).toBe("no broker that answers names a leader");
    expect(of(refused("REQUEST_TIMED_OUT"))).toBe("no broker that answers names a leader");
    expect(of(refused("UNKNOWN_TOPIC_OR_PARTITION"))).toBe(unknown);
    expect(of(refused("UNKNOWN_TOPIC_ID"))).toBe(unknown);
    const withoutId = (error: unknown) =>
      describeWriteRefusal({ leader: "a:1", broker: undefined, error });
    const noId = "the brokers give this node no producer id";
    expect(withoutId(new Error("closed"))).toBe(noId);
    expect(withoutId(refused("COORDINATOR_NOT_AVAILABLE"))).toBe(
      `${noId}, they answer COORDINATOR_NOT_AVAILABLE`,
    );
  });

  test("has the first code of an error, of its errors and of its causes", () => {
    expect(apiIdOf(refused("A"))).toBe("A");
    expect(apiIdOf({ apiId: "A", errors: [refused("B")], cause: refused("C") })).toBe("A");
    expect(apiIdOf({ errors: [{}, { cause: refused("B") }], cause: refused("C") })).toBe("B");
    expect(apiIdOf({ errors: [null, "text"], cause: refused("C") })).toBe("C");
    for (const error of [undefined, null, "text", {}]) expect(apiIdOf(error)).toBeUndefined();
  });
});

test("numbers are named in ascending order, the first twelve of them", () => {
  expect(nameNumbers([])).toBe("");
  expect(nameNumbers([10, 9, 1])).toBe("1, 9, 10");
  const twelve = Array.from({ length: 12 }, (_, at) => at);
  expect(nameNumbers(twelve)).toBe(twelve.join(", "));
  expect(nameNumbers([...twelve, 12, 13])).toBe(`${twelve.join(", ")} and 2 more`);
});

describe("the access to a partition", () => {
  const [replicas, isr] = [
    [1, 2, 3],
    [1, 2],
  ];
  const topics = new Map<string, object>([
    ["t.unknown", { errorCode: 3 }],
    [
      "t.events",
      {
        partitions: [
          { leader: 1, isr, replicas },
          { leader: 2, isr, replicas },
          { leader: -1, isr, replicas },
          { leader: 1, isr: [1], replicas },
          { leader: 1, isr: [1], replicas: [1] },
          { leader: 1, isr: [1], replicas: [1, 2] },
        ],
      },
    ],
  ]);
  const view = {
    topic: (name: string) => topics.get(name),
    brokers: new Map([1, 2].map((id) => [id, { host: "b", port: id }])),
    nameOf: (address: string) => `Broker at ${address}`,
  } as unknown as ClusterView;
  const expected = [
    { state: "available" },
    { state: "unreachable", leader: "Broker at b:2" },
    { state: "unavailable" },
    { state: "unavailable" },
    { state: "available" },
    { state: "unavailable" },
  ];

  test("depends on its leader, on whether it answers, and on a majority in sync", () => {
    expect(partitionAccess(view, new Set(["b:2"]), "t.events") as object[]).toEqual(expected);
    expect(partitionAccess(view, new Set(), "t.unknown")).toEqual([]);
    expect(partitionAccess(view, new Set(), "t.none")).toEqual([]);
  });

  test("counts a leader as silent for the time that the caller names", () => {
    const asked: number[] = [];
    const unresponsiveBrokers = (ms: number) => {
      asked.push(ms);
      return ["b:2"];
    };
    const access = accessOf({ view, unresponsiveBrokers } as never, "t");
    expect(access("events", 7) as object[]).toEqual(expected);
    expect(asked).toEqual([7]);
  });
});

test("a topic that once had another id counts as recreated from then on", () => {
  const identity = new TopicIdentity("t");
  identity.expectUnchanged();
  identity.check("1");
  identity.check("1");
  identity.expectUnchanged();
  expect(() => identity.check("2")).toThrow("The topic t was deleted and created again");
  expect(() => identity.check("1")).toThrow(TopicRecreated);
  expect(() => identity.expectUnchanged()).toThrow(TopicRecreated);
});
