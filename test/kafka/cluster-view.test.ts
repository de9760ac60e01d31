import { expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { ClusterView } from "../../src/kafka/cluster-view.ts";
import type { MetadataAnswer } from "../../src/kafka/library.ts";

const BROKERS = 3;
const PARTITIONS = 2;
const addressOf = (id: number) => `broker-${id}:9092`;
const brokersOf = (ids: readonly number[]) =>
  ids.map((nodeId) => ({ nodeId, host: `broker-${nodeId}`, port: 9092, rack: null }));

interface Statement {
  leader: number;
  epoch: number;
}

/** Answer of a broker that lists `members` and states a leader for each partition of topic `t`. */
function answerOf(members: readonly number[], statements: readonly Statement[]): MetadataAnswer {
  const partitions = statements.map(({ leader, epoch }, partitionIndex) => ({
    ...{ errorCode: 0, partitionIndex, leaderId: leader, leaderEpoch: epoch },
    ...{ replicaNodes: [1, 2, 3], isrNodes: [leader], offlineReplicas: [] },
  }));
  const topic = { errorCode: 0, name: "t", topicId: "id", isInternal: false, partitions };
  return {
    ...{ throttleTimeMs: 0, clusterId: "c", controllerId: members[0] ?? -1 },
    brokers: brokersOf(members),
    topics: [{ ...topic, topicAuthorizedOperations: 0 }],
  };
}

const statement1 = { leader: 1, epoch: 1 };
const at = (nodeId: number, host: string) => ({ nodeId, host, port: 9092, rack: null });

const all = [1, 2, 3];
const statement = fc.record({ leader: fc.integer({ min: -1, max: 3 }), epoch: fc.nat(4) });
const statements = fc.array(statement, { minLength: PARTITIONS, maxLength: PARTITIONS });
const members = fc.uniqueArray(fc.constantFrom(...all), { minLength: 1 });
/** Event at one broker: the broker answers a probe with `answer`, or gives no answer. */
const event = fc.record({
  broker: fc.integer({ min: 1, max: BROKERS }),
  answer: fc.option(fc.record({ members, statements }), { freq: 3 }),
});
const history = fc.array(event, { minLength: 1, maxLength: 12 });

/** The last answers of the brokers that answer at the end of a history. */
function lastAnswers(events: readonly { broker: number; answer: Answered | null }[]) {
  const last = new Map<number, Answered>();
  for (const { broker, answer } of events) {
    if (answer === null) last.delete(broker);
    else last.set(broker, answer);
  }
  return last;
}

interface Answered {
  members: number[];
  statements: Statement[];
}

function viewOf(events: readonly { broker: number; answer: Answered | null }[]): ClusterView {
  const view = new ClusterView();
  for (const { broker, answer } of events) {
    if (answer === null) view.drop(addressOf(broker));
    else view.take(addressOf(broker), answerOf(answer.members, answer.statements));
  }
  return view;
}

test("the leader is the one with the highest epoch of all brokers that answer", () => {
  fc.assert(
    fc.property(history, (events) => {
      const last = [...lastAnswers(events).values()];
      const leaders = viewOf(events).leaders("t");
      if (last.length === 0) return expect(leaders).toBeUndefined();
      for (let partition = 0; partition < PARTITIONS; partition++) {
        const stated = last.map((it) => it.statements[partition]!);
        const highest = Math.max(...stated.map(({ epoch }) => epoch));
        const latest = stated.filter(({ epoch }) => epoch === highest).map(({ leader }) => leader);
        expect(latest).toContain(leaders![partition]!);
        // A broker that names no leader does not hide one of the same epoch.
        expect(leaders![partition]! < 0).toBe(Math.max(...latest) < 0);
      }
    }),
  );
});

test("the view does not depend on the order of the answers, nor on former answers", () => {
  fc.assert(
    fc.property(history, fc.boolean(), (events, isReversed) => {
      const last = [...lastAnswers(events)].map(([broker, answer]) => ({ broker, answer }));
      if (isReversed) last.reverse();
      const [view, fresh] = [viewOf(events), viewOf(last)];
      expect(view.leaders("t")).toEqual(fresh.leaders("t"));
      if (last.length === 0) return;
      expect(view.brokers).toEqual(fresh.brokers);
      const named = (it: ClusterView) => it.outdated().flatMap(({ partitions }) => partitions);
      expect(named(view)).toEqual(named(fresh));
    }),
  );
});

const old = [
  { leader: 1, epoch: 5 },
  { leader: 2, epoch: 7 },
];
const moved = [
  { leader: 2, epoch: 6 },
  { leader: 2, epoch: 7 },
];

test("a broker that is cut off from the others decides neither leaders nor members", () => {
  for (const order of [
    [1, 2, 3],
    [3, 2, 1],
    [2, 1, 3],
    [3, 1],
  ]) {
    const view = new ClusterView();
    for (const id of all) view.take(addressOf(id), answerOf(all, old));
    expect(view.outdated()).toEqual([]);
    for (const id of order) {
      view.take(addressOf(id), id === 1 ? answerOf(all, old) : answerOf([2, 3], moved));
    }
    if (!order.includes(2)) view.drop(addressOf(2));
    expect(view.leaders("t")).toEqual([2, 2]);
    expect([...view.brokers.keys()]).toEqual([2, 3]);
    expect(view.controllerId).toBe(2);
    expect(view.hasLeft(addressOf(1))).toBeTrue();
    expect(view.outdated()).toMatchObject([
      {
        address: addressOf(1),
        isListed: false,
        partitions: [{ topic: "t", partition: 0, named: addressOf(1), latest: addressOf(2) }],
      },
    ]);
  }
});

test("a broker that leads nothing and that the others do not list is outdated", () => {
  const view = new ClusterView();
  const led = moved;
  view.take(addressOf(1), answerOf(all, led));
  view.take(addressOf(2), answerOf([2, 3], led));
  view.take(addressOf(3), answerOf([2, 3], led));
  const outdated = { address: addressOf(1), isListed: false, partitions: [] };
  expect(view.outdated()).toMatchObject([outdated]);
  view.take(addressOf(2), answerOf(all, led));
  view.take(addressOf(3), answerOf(all, led));
  expect(view.outdated()).toEqual([]);
  expect(view.hasLeft(addressOf(1))).toBeFalse();
});

test("the time for which a broker is outdated is counted without interruption", () => {
  const clock = spyOn(performance, "now");
  try {
    const view = new ClusterView();
    const answer = (ms: number, isCut: boolean) => {
      clock.mockReturnValue(ms);
      view.take(addressOf(1), answerOf(all, isCut ? old : moved));
      view.take(addressOf(2), answerOf(all, moved));
      return view.outdated()[0]?.forMs;
    };
    expect(answer(1_000, true)).toBe(0);
    expect(answer(4_000, true)).toBe(3_000);
    expect(answer(5_000, false)).toBeUndefined();
    expect(answer(6_000, true)).toBe(0);
  } finally {
    clock.mockRestore();
  }
});

test("the in-sync replicas are those that the leader itself names", () => {
  const view = new ClusterView();
  const answers = { 1: [1], 2: [2, 3], 3: [1, 2, 3] };
  for (const [id, isrNodes] of Object.entries(answers)) {
    const answer = answerOf(all, moved);
    for (const partition of answer.topics[0]!.partitions) partition.isrNodes = isrNodes;
    view.take(addressOf(Number(id)), answer);
  }
  const topic = view.topic("t");
  expect(topic).toMatchObject({ id: "id", partitions: [{ isr: [2, 3] }, { isr: [2, 3] }] });
});

test("the in-sync replicas of a former term of the leader are not used", () => {
  const view = new ClusterView();
  for (const [id, epoch, isrNodes] of [
    [1, 1, [1, 2, 3]],
    [2, 2, [1]],
  ] as const) {
    const answer = answerOf(all, [{ leader: 1, epoch }]);
    answer.topics[0]!.partitions[0]!.isrNodes = [...isrNodes];
    view.take(addressOf(id), answer);
  }
  expect(view.topic("t")).toMatchObject({ partitions: [{ leader: 1, isr: [1] }] });
});

test("brokers without leader epochs are believed by their number", () => {
  const view = new ClusterView();
  const without = (leader: number) => {
    const answer = answerOf(all, [{ leader, epoch: 0 }]);
    // Answers before version 7 have no epoch.
    answer.topics[0]!.partitions[0]!.leaderEpoch = undefined as unknown as number;
    return answer;
  };
  view.take(addressOf(1), without(1));
  view.take(addressOf(2), without(3));
  view.take(addressOf(3), without(3));
  expect(view.leaders("t")).toEqual([3]);
});

test("a topic that was created again has the id that most brokers name", () => {
  const view = new ClusterView();
  const again = answerOf(all, [{ leader: 3, epoch: 0 }]);
  again.topics[0]!.topicId = "another";
  view.take(addressOf(1), answerOf(all, old));
  view.take(addressOf(2), again);
  view.take(addressOf(3), again);
  expect(view.topic("t")).toMatchObject({ id: "another", partitions: [{ leader: 3 }] });
  const unknown = answerOf(all, []);
  unknown.topics[0]!.errorCode = 3;
  for (const id of [2, 3]) view.take(addressOf(id), unknown);
  expect(view.topic("t")).toMatchObject({ errorCode: 3 });
});

test("a topic that brokers refuse has no leaders, and one without an id has its name as id", () => {
  const view = new ClusterView();
  const nameless = answerOf(all, [statement1]);
  nameless.topics[0]!.topicId = undefined as unknown as string;
  view.take(addressOf(1), nameless);
  expect(view.topic("t")).toMatchObject({ id: "t" });
  expect(view.leaders("t")).toEqual([1]);
  expect(view.leaders("u")).toBeUndefined();
  const refused = answerOf(all, []);
  refused.topics[0]!.errorCode = 29;
  view.take(addressOf(1), refused);
  expect(view.topic("t")).toMatchObject({ errorCode: 29 });
  expect(view.leaders("t")).toBeUndefined();
});

test("a broker is a member while half of the answers list it", () => {
  const view = new ClusterView();
  const listings = [[1, 2, 3], [1, 2], [1, 3], [1]];
  for (const [at, members] of listings.entries()) {
    view.take(addressOf(at + 1), answerOf(members, [statement1]));
  }
  expect([...view.brokers.keys()]).toEqual([1, 2, 3]);
  view.take(addressOf(3), answerOf([1], [statement1]));
  expect([...view.brokers.keys()]).toEqual([1, 2]);
  expect(view.hasLeft(addressOf(3))).toBe(true);
  expect(view.hasLeft("unknown:1")).toBe(false);
});

test("the answers of a broker of another Kafka cluster are not used, also under the address of a known one", () => {
  const view = new ClusterView();
  const foreign = { ...answerOf(all, moved), clusterId: "d" };
  view.take(addressOf(1), answerOf([1, 2], old));
  view.take(addressOf(2), foreign);
  expect(view.leaders("t")).toEqual([1, 2]);
  expect([...view.brokers.keys()]).toEqual([1, 2]);
  expect(view.clusterId).toBe("c");
  expect(view.foreign()).toEqual([{ address: addressOf(2), clusterId: "d" }]);
  expect([1, 2, 3].map((id) => view.isUsable(addressOf(id)))).toEqual([true, false, true]);
  view.drop(addressOf(1));
  view.take(addressOf(2), foreign);
  expect(view.isEmpty).toBeTrue();
  view.take(addressOf(2), answerOf([1, 2], old));
  expect(view.foreign()).toEqual([]);
});

test("a broker that moved back is known by its last address", () => {
  const view = new ClusterView();
  const answer = answerOf([1, 2], [statement1]);
  for (const host of ["broker-2", "moved-2", "broker-2"]) {
    view.take(addressOf(1), { ...answer, brokers: answer.brokers.with(1, at(2, host)) });
  }
  view.take(addressOf(1), answerOf([1], [statement1]));
  expect(view.addressOfBroker(2)).toBe("broker-2:9092");
});

test("the addresses that are remembered are bounded, whatever brokers list", () => {
  const view = new ClusterView();
  const answer = answerOf([1], [statement1]);
  for (let id = 2; id <= 1_002; id++) {
    view.take(addressOf(1), { ...answer, brokers: [at(id, `host-${id}`)] });
  }
  expect(view.wasListed("host-2:9092")).toBe(false);
  expect(view.wasListed("host-3:9092")).toBe(true);
});

test("one broker states one leader for a partition, however often it names the partition", () => {
  const view = new ClusterView();
  const answer = answerOf([1, 2], [statement1]);
  const topic = answer.topics[0]!;
  const partitions = [9, 1, 2].map((leaderId) => ({ ...topic.partitions[0]!, leaderId }));
  view.take(addressOf(1), { ...answer, topics: [{ ...topic, partitions }] });
  expect(view.leaders("t")?.[0]).toBe(2);
});

test("a view without answers knows no broker, and none that has left", () => {
  const view = new ClusterView();
  expect([view.isEmpty, view.clusterId, view.controllerId, view.brokers.size]).toEqual([
    ...[true, "", -1, 0],
  ]);
  expect([view.topic("t"), view.leaders("t"), view.addressOfBroker(1)]).toEqual([
    ...[undefined, undefined, undefined],
  ]);
  expect([view.outdated(), view.foreign()]).toEqual([[], []]);
  const address = addressOf(1);
  expect([view.isUsable(address), view.hasLeft(address), view.wasListed(address)]).toEqual([
    ...[true, false, false],
  ]);
  expect(view.nameOf(address)).toBe("Broker broker-1:9092");
});

test("a broker that is listed has its id in its name, and an IPv6 address no brackets", () => {
  const view = new ClusterView();
  const answer = answerOf([1], [statement1]);
  view.take("[::1]:9092", { ...answer, brokers: [at(7, "::1")] });
  expect(view.nameOf("::1:9092")).toBe("Broker 7 (::1:9092)");
  expect(view.addressOfBroker(7)).toBe("::1:9092");
  expect([view.wasListed("::1:9092"), view.wasListed("[::1]:9092")]).toEqual([true, false]);
});

test("the members are remembered while no broker answers, and their topics are not", () => {
  const view = new ClusterView();
  view.take(addressOf(1), answerOf([1, 2], old));
  view.drop(addressOf(2));
  expect(view.leaders("t")).toEqual([1, 2]);
  view.drop(addressOf(1));
  expect([...view.brokers.keys()]).toEqual([1, 2]);
  expect([view.isEmpty, view.topic("t"), view.outdated(), view.clusterId]).toEqual([
    ...[true, undefined, [], "c"],
  ]);
  expect([1, 2, 3].map((id) => view.isUsable(addressOf(id)))).toEqual([true, true, true]);
});

test("brokers that are all behind for some partition decide together", () => {
  const view = new ClusterView();
  const ahead = (...epochs: number[]) => epochs.map((epoch, at) => ({ leader: at + 1, epoch }));
  view.take(addressOf(1), answerOf([1, 2], ahead(9, 1)));
  view.take(addressOf(2), answerOf([2, 1], ahead(1, 9)));
  expect(view.leaders("t")).toEqual([1, 2]);
  expect([...view.brokers.keys()]).toEqual([1, 2]);
  expect(view.outdated().map(({ address, isListed }) => [address, isListed])).toEqual([
    [addressOf(1), true],
    [addressOf(2), true],
  ]);
  expect(view.controllerId).toBe(1);
});

test("the controller is one that a member names, if it is a member itself", () => {
  const view = new ClusterView();
  const named = (controllerId: number) => ({ ...answerOf([1, 2], [statement1]), controllerId });
  view.take(addressOf(1), named(9));
  expect(view.controllerId).toBe(9);
  view.take(addressOf(2), named(2));
  expect(view.controllerId).toBe(2);
});

test("a partition that no broker describes has no leader and no replicas", () => {
  const view = new ClusterView();
  const answer = answerOf([1], [statement1]);
  const [topic] = answer.topics;
  const partitions = [{ ...topic!.partitions[0]!, partitionIndex: 5 }];
  view.take(addressOf(1), { ...answer, topics: [{ ...topic!, partitions }] });
  expect(view.topic("t")).toMatchObject({
    partitions: [{ leader: -1, leaderEpoch: -1, replicas: [], isr: [], offlineReplicas: [] }],
    partitionsCount: 1,
  });
});

test("a partition has the replicas of its leader's answer, and a broker without a leader is behind", () => {
  const view = new ClusterView();
  view.take(addressOf(1), answerOf(all, [{ leader: -1, epoch: 3 }]));
  view.take(addressOf(2), answerOf(all, [{ leader: 2, epoch: 4 }]));
  expect(view.topic("t")).toMatchObject({
    id: "id",
    partitions: [{ leader: 2, leaderEpoch: 4, replicas: [1, 2, 3], isr: [2], offlineReplicas: [] }],
  });
  expect([view.isOutdated(addressOf(1)), view.isOutdated(addressOf(2))]).toEqual([true, false]);
  expect(view.outdated()[0]!.partitions).toEqual([
    { topic: "t", partition: 0, named: undefined, latest: addressOf(2) },
  ]);
});

test("an answer with very many topics, partitions and brokers is merged in linear time", () => {
  const mergeMs = (count: number) => {
    const view = new ClusterView();
    const many = <T>(make: (at: number) => T) => Array.from({ length: count }, (_, at) => make(at));
    const answer = answerOf(
      [1, 2],
      many(() => statement1),
    );
    const { partitions } = answer.topics[0]!;
    const rows = partitions.map((it) => ({ ...it, leaderEpoch: 2 }));
    view.take(addressOf(2), { ...answer, topics: [{ ...answer.topics[0]!, partitions: rows }] });
    const startedAt = performance.now();
    view.take(addressOf(1), {
      ...answer,
      brokers: many((id) => at(id, `host-${id}`)),
      topics: [
        answer.topics[0]!,
        { ...answer.topics[0]!, name: "repeated", partitions: many(() => partitions[0]!) },
        ...many((name) => ({ ...answer.topics[0]!, name: `t${name}`, partitions: [] })),
      ],
    });
    return performance.now() - startedAt;
  };
  mergeMs(1_000);
  // In quadratic time it took 24 s.
  expect(mergeMs(20_000)).toBeLessThan(10_000);
});
