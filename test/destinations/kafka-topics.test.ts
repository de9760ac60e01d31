import { afterAll, beforeAll, beforeEach, expect, type Mock, spyOn, test } from "bun:test";
import type { BrokerConnections } from "../../src/destinations/kafka/broker-connections.ts";
import { KAFKA_TOPICS_MAX } from "../../src/destinations/kafka/limits.ts";
import { TopicMetadata } from "../../src/destinations/kafka/topic-metadata.ts";

const { signal } = new AbortController();
const [UNKNOWN_TOPIC, LEADER_NOT_AVAILABLE, NOT_LEADER, INVALID_TOPIC, NO_GRANT] = [
  3, 5, 6, 17, 29,
];

let now: number;
let clock: Mock<typeof performance.now>;
beforeAll(() => {
  clock = spyOn(performance, "now").mockImplementation(() => now);
});
beforeEach(() => {
  now = 1_000_000;
});
afterAll(() => clock.mockRestore());

class ResponseError extends Error {
  constructor(
    readonly response: unknown,
    readonly apiCode?: number,
  ) {
    super("Codes of errors");
  }
}

interface Topic {
  code?: number;
  id?: string;
  /** Leaders of the partitions, as the id of the broker and the epoch. */
  leaders?: [id: number, epoch: number][];
}

/** The metadata of brokers that know these topics; a topic that they lack has no entry. */
function answerOf(topics: Record<string, Topic>, ids = [1, 2]) {
  return {
    brokers: ids.map((nodeId) => ({ nodeId, host: `b${nodeId}`, port: nodeId })),
    topics: Object.entries(topics).map(([name, { code = 0, id = "id", leaders = [] }]) => ({
      ...{ name, errorCode: code, topicId: id },
      partitions: leaders.map(([leaderId, leaderEpoch], partitionIndex) => ({
        ...{ partitionIndex, leaderId, leaderEpoch },
      })),
    })),
  };
}

type Api = { async(over: unknown, names: string[], ...rest: unknown[]): Promise<unknown> };
type Ask = (api: Api) => Promise<unknown>;

/** Metadata whose requests are kept, and answered by `answer`, or by each of `several`. */
function setup(createsTopics = false) {
  const requests: unknown[][] = [];
  const known = {
    answer: (names: string[]): unknown =>
      answerOf(Object.fromEntries(names.map((name) => [name, { leaders: [[1, 1]] }]))),
    several: [] as ((names: string[]) => unknown)[],
  };
  const preferred: unknown[][] = [];
  const connection = (answer: (names: string[]) => unknown) => ({
    kafka: { ResponseError },
    exchange(request: string, ask: Ask) {
      return ask({
        async async(_, names, ...rest) {
          requests.push([request, names, ...rest]);
          const answered = answer(names);
          if (answered instanceof Error) throw answered;
          return answered;
        },
      });
    },
  });
  const brokers = {
    connectAny: async () => connection((names) => known.answer(names)),
    askSeveral(addresses: Iterable<unknown>, ask: (it: object) => Promise<unknown>) {
      preferred.push([...addresses]);
      return Promise.all(known.several.map((answer) => ask(connection(answer))));
    },
  };
  const topics = new TopicMetadata(brokers as unknown as BrokerConnections, createsTopics);
  const refresh = (...names: string[]) => topics.refresh(names, signal);
  return { topics, refresh, requests, known, preferred };
}

const named = (count: number, prefix = "t") =>
  Array.from({ length: count }, (_, n) => `${prefix}${n}`);
const leadersOf = ({ topics }: ReturnType<typeof setup>, name = "t") =>
  topics.get(name)?.leaders.map(({ leaderId }) => leaderId);

test("topics are asked for in pieces of 100, and again after a minute", async () => {
  const { refresh, requests, topics } = setup();
  const names = named(250);
  expect(await refresh(...names)).toEqual(new Map());
  const pieces = [names.slice(0, 100), names.slice(100, 200), names.slice(200)];
  expect(requests).toEqual(pieces.map((piece) => ["metadata", piece, false, false]));
  expect(topics.leader("t249", 0)).toEqual({ host: "b1", port: 1 });
  now += 59_999;
  await refresh(...names);
  expect(requests).toHaveLength(3);
  now += 1;
  await refresh("t0", "new");
  expect(requests.slice(3)).toEqual([["metadata", ["t0", "new"], false, false]]);
});

test("a topic with an error code or without an answer is a fault and forgotten, and one without partitions a fault", async () => {
  const made = setup();
  const { refresh, known, topics } = made;
  await refresh("gone", "bare", "missing", "there");
  now += 60_000;
  known.answer = () =>
    answerOf({ gone: { code: NO_GRANT }, bare: {}, there: { leaders: [[2, 2]] } });
  const faults = await refresh("gone", "bare", "missing", "there");
  expect([...faults].sort()).toEqual([
    ["bare", LEADER_NOT_AVAILABLE],
    ["gone", NO_GRANT],
    ["missing", UNKNOWN_TOPIC],
  ]);
  expect(["gone", "missing", "there"].map((name) => leadersOf(made, name))).toEqual([
    ...[undefined, undefined, [2]],
  ]);
  expect(topics.leader("there", 0)).toEqual({ host: "b2", port: 2 });
});

test("an answer with the error of one topic has the others, and any other error fails the refresh", async () => {
  const made = setup();
  const { refresh, known } = made;
  const partial = answerOf({ bad: { code: INVALID_TOPIC }, good: { leaders: [[1, 1]] } });
  known.answer = () => new ResponseError(partial, INVALID_TOPIC);
  expect(await refresh("bad", "good")).toEqual(new Map([["bad", INVALID_TOPIC]]));
  expect(leadersOf(made, "good")).toEqual([1]);
  for (const error of [new ResponseError(partial), Object.assign(new Error("x"), { apiCode: 3 })]) {
    known.answer = () => error;
    await expect(refresh("other")).rejects.toBe(error);
  }
});

test("a partition without a leader, or with an unknown one, has no address", async () => {
  const { refresh, known, topics } = setup();
  known.answer = () =>
    answerOf({
      t: {
        leaders: [
          [1, 1],
          [-1, 1],
          [7, 1],
        ],
      },
    });
  await refresh("t");
  const leaders = [0, 1, 2, 3].map((partition) => topics.leader("t", partition));
  expect(leaders).toEqual([{ host: "b1", port: 1 }, undefined, undefined, undefined]);
  expect(topics.leader("unknown", 0)).toBeUndefined();
});

test("a leader of a lower epoch is not believed, unless the topic was created again or a request failed", async () => {
  const made = setup();
  const { refresh, known, topics, requests, preferred } = made;
  const say = async (id: string, ...leaders: [number, number][]) => {
    known.answer = () => answerOf({ t: { id, leaders } });
    known.several = [known.answer];
    now += 60_000;
    await refresh("t");
    return leadersOf(made);
  };
  expect(await say("a", [1, 5])).toEqual([1]);
  expect(await say("a", [2, 4])).toEqual([1]);
  expect(await say("a", [2, 6])).toEqual([2]);
  expect(await say("b", [1, 0])).toEqual([1]);
  expect(await say("b", [2, 3])).toEqual([2]);
  topics.expireAll();
  // Nothing is asked for: the doubt stays.
  await refresh();
  expect(preferred).toEqual([]);
  expect(await say("b", [1, 2])).toEqual([1]);
  expect(preferred).toEqual([
    [
      { host: "b1", port: 1 },
      { host: "b2", port: 2 },
    ],
  ]);
  expect(await say("b", [2, 1])).toEqual([1]);
  expect([requests.length, preferred.length]).toEqual([7, 1]);
});

test("of several answers, those about the topic that most brokers name count", async () => {
  const made = setup();
  const { refresh, known, topics } = made;
  await refresh("t");
  topics.expireAll();
  const say = (id: string, leader: number, epoch: number, ids: number[]) => () =>
    answerOf({ t: { id, leaders: [[leader, epoch]] }, u: { code: NOT_LEADER } }, ids);
  known.several = [say("old", 1, 9, [1]), say("new", 2, 1, [2]), say("new", 3, 2, [3])];
  expect(await refresh("t", "u")).toEqual(new Map([["u", NOT_LEADER]]));
  expect(leadersOf(made)).toEqual([3]);
  expect(topics.leader("t", 0)).toEqual({ host: "b3", port: 3 });
});

test("a topic that one broker does not know is missing only if no other broker knows it", async () => {
  const made = setup();
  const { refresh, known, requests, preferred, topics } = made;
  known.answer = () => answerOf({ t: { code: UNKNOWN_TOPIC }, there: { leaders: [[1, 1]] } });
  const lacking = () => answerOf({ t: { code: UNKNOWN_TOPIC } });
  known.several = [lacking, lacking];
  expect(await refresh("t", "there", "unstated")).toEqual(
    new Map([
      ["t", UNKNOWN_TOPIC],
      ["unstated", UNKNOWN_TOPIC],
    ]),
  );
  // The brokers of the first answer are asked, and only for what it lacks.
  const addresses = [1, 2].map((id) => ({ host: `b${id}`, port: id }));
  expect(preferred).toEqual([addresses]);
  expect(requests.map(([, names]) => names)).toEqual([
    ...[["t", "there", "unstated"], ...Array(2).fill(["t", "unstated"])],
  ]);
  expect(leadersOf(made, "there")).toEqual([1]);
  // A broker that knows the topic without its leader knows more than one that lacks it.
  known.several = [lacking, () => answerOf({ t: { code: LEADER_NOT_AVAILABLE } })];
  expect(await refresh("t")).toEqual(new Map([["t", LEADER_NOT_AVAILABLE]]));
  known.several = [lacking, () => answerOf({ t: { leaders: [[3, 1]] } }, [3])];
  expect(await refresh("t")).toEqual(new Map());
  expect(topics.leader("t", 0)).toEqual({ host: "b3", port: 3 });
  expect(leadersOf(made, "there")).toEqual([1]);
  // The metadata that is known already is kept meanwhile.
  now += 60_000;
  known.several = [() => answerOf({ t: { leaders: [[2, 0]] } })];
  expect(await refresh("t")).toEqual(new Map());
  expect(leadersOf(made)).toEqual([3]);
});

test("several brokers are asked for all pieces of missing topics at the same time", async () => {
  const { refresh, known, preferred } = setup();
  const names = named(250);
  known.answer = () => answerOf({});
  let asked = 0;
  const all = Promise.withResolvers<void>();
  known.several = [
    async (piece) => {
      asked += 1;
      if (asked === 3) all.resolve();
      await all.promise;
      return answerOf(Object.fromEntries(piece.map((name) => [name, { leaders: [[1, 1]] }])));
    },
  ];
  expect(await refresh(...names)).toEqual(new Map());
  expect([asked, preferred.length]).toEqual([3, 3]);
});

test("several brokers are not asked for a missing topic after they were asked, or where they create topics", async () => {
  const lacking = () => answerOf({});
  const doubtful = setup();
  doubtful.known.several = [lacking];
  doubtful.topics.expireAll();
  expect(await doubtful.refresh("t")).toEqual(new Map([["t", UNKNOWN_TOPIC]]));
  const creating = setup(true);
  creating.known.answer = lacking;
  expect(await creating.refresh("t")).toEqual(new Map([["t", UNKNOWN_TOPIC]]));
  expect([doubtful.requests.length, creating.requests.length]).toEqual([1, 1]);
});

test("answers without ids of topics are about one topic", async () => {
  const made = setup();
  const { known, refresh } = made;
  const say = (epoch: number, leader: number) => () => {
    const answer = answerOf({ t: { leaders: [[leader, epoch]] } });
    for (const topic of answer.topics) Reflect.deleteProperty(topic, "topicId");
    return answer;
  };
  known.answer = say(5, 1);
  await refresh("t");
  expect(made.topics.get("t")?.id).toBe("");
  now += 60_000;
  known.answer = say(4, 2);
  await refresh("t");
  expect(leadersOf(made)).toEqual([1]);
});

test("a topic that no broker creates is lost 10 s after it was first asked for", async () => {
  const { topics, refresh, known } = setup(true);
  known.answer = () => answerOf({});
  await refresh("t");
  now += 5_000;
  await refresh("t");
  for (const code of [UNKNOWN_TOPIC, LEADER_NOT_AVAILABLE]) {
    now = 1_010_000;
    expect(topics.isLost("t", code)).toBe(false);
    now += 1;
    expect(topics.isLost("t", code)).toBe(true);
  }
  for (const code of [INVALID_TOPIC, NO_GRANT]) expect(topics.isLost("t", code)).toBe(true);
  expect(topics.isLost("t", NOT_LEADER)).toBe(false);
});

test("a topic that brokers are not asked to create is lost when it is missing, but not without a leader", () => {
  const { topics } = setup();
  const codes = [UNKNOWN_TOPIC, LEADER_NOT_AVAILABLE, NOT_LEADER, INVALID_TOPIC, NO_GRANT];
  expect(codes.map((code) => topics.isLost("t", code))).toEqual([true, false, false, true, true]);
});

test("brokers are asked to create no more topics than the bound", async () => {
  const { topics, refresh, requests, known } = setup(true);
  known.answer = () => answerOf({});
  const names = named(KAFKA_TOPICS_MAX + 1);
  const admitted = topics.admit([...names, "t0"]);
  expect([...admitted]).toEqual(names.slice(0, -1));
  await refresh(...names.slice(0, -2));
  expect(requests[0]).toEqual(["metadata", names.slice(0, 100), true, false]);
  // Those that were asked for are admitted without room.
  expect([...topics.admit(["t0", "a", "a", "b", "t1"])]).toEqual(["t0", "a", "t1"]);
});

test("missing topics need no room where none are created, and existing ones are kept up to the bound", async () => {
  const { topics, refresh } = setup();
  const names = named(KAFKA_TOPICS_MAX - 1);
  await refresh(...names);
  expect(topics.admit(named(1_000, "missing")).size).toBe(1_000);
  await refresh("a", "b");
  expect([topics.get("a") !== undefined, topics.get("b")]).toEqual([true, undefined]);
  expect([...topics.admit(["c", "a", "t0"])]).toEqual(["a", "t0"]);
  now += 60_000;
  await refresh("a");
  expect(topics.get("a")).toMatchObject({ answeredAt: now });
});
