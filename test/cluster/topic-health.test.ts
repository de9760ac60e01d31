import { expect, test } from "bun:test";
import fc from "fast-check";
import { judgeTopics } from "../../src/cluster/topics/topic-health.ts";
import { ClusterView } from "../../src/kafka/cluster-view.ts";
import type { MetadataAnswer } from "../../src/kafka/library.ts";
import { runs } from "../tier.ts";

const ADDRESSES = ["a:1", "b:2", "c:3"];

interface Statement {
  leader: number;
  epoch?: number;
  isr?: number[];
}

/** Answer of a broker about the topic `p.events`. */
function answer(
  statements: Statement[] | number,
  listed = [0, 1, 2],
  names = ["p.events"],
): MetadataAnswer {
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
    topics: names.map((name) => ({
      errorCode: isCode ? statements : 0,
      name,
      topicId: isCode ? "" : "id",
      isInternal: false,
      topicAuthorizedOperations: 0,
      partitions: partitions.map(({ leader, epoch = 1, isr = [0, 1, 2] }, partitionIndex) => ({
        ...{ errorCode: 0, partitionIndex, leaderId: leader, leaderEpoch: epoch },
        ...{ replicaNodes: [0, 1, 2], isrNodes: isr, offlineReplicas: [] },
      })),
    })),
  } as unknown as MetadataAnswer;
}

/** Health of the topic after each broker has answered, and some time has passed. */
function health(
  answers: (MetadataAnswer | undefined)[],
  view = new ClusterView(),
  names = ["p.events"],
) {
  for (const [at, it] of answers.entries()) if (!it) view.drop(ADDRESSES[at]!);
  for (const [at, it] of answers.entries()) if (it) view.take(ADDRESSES[at]!, it);
  return judgeTopics({
    clients: {
      unresponsiveBrokers: () => ADDRESSES.filter((_, at) => answers[at] === undefined),
      foreignBrokers: () => view.foreign(),
      outdatedBrokers: () => view.outdated().map((it) => ({ ...it, forMs: it.forMs + 10_000 })),
      view,
    },
    topics: () =>
      names.map((name) => {
        return { name, replicas: 3, isVital: name !== "p.nodes", remedy: "restore it" };
      }),
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
  expect(warnings()).toEqual([
    "Broker 0 (a:1) disagrees with the other brokers on who leads and they do not list it, it names a:1 and not b:2 for p.events 0, a:1 and not c:3 for p.events 1: check its network to them; copies are missing of p.events",
  ]);
});

test("no sentence names a broker that answers as the others do", () => {
  const same = [{ leader: 0 }, { leader: 1 }];
  expect(health([answer(same), answer(same), answer(same)]).warnings()).toEqual([]);
  expect(health([undefined, answer(same), answer(same)]).warnings()).toEqual([
    "Broker 0 (a:1) does not answer",
  ]);
});

const NAMES = ["p.catalog", "p.events", "p.ledgers"];
const CONSEQUENCES = ["Partition 1 cannot be read", "The coordinator has not answered"];

test("a broker that is away has one row, with what follows from it, until it is back", () => {
  const view = new ClusterView();
  const whole = [{ leader: 0 }, { leader: 1 }, { leader: 2 }];
  const before = answer(whole, [0, 1, 2], NAMES);
  const rows = (answers: (MetadataAnswer | undefined)[]) =>
    health(answers, view, NAMES).warnings(CONSEQUENCES);
  expect(rows([before, before, before])).toEqual(CONSEQUENCES);
  const isr = [0, 1];
  const left = answer(
    [
      { leader: 0, isr },
      { leader: 1, isr },
      { leader: -1, isr: [2] },
    ],
    [0, 1],
    NAMES,
  );
  const lacking = NAMES.map(
    (it) => `${it} has no leader, and is neither read nor written, in partitions 2`,
  );
  const copies = "copies are missing of p.catalog, p.events, p.ledgers";
  const consequences = [...lacking, copies, ...CONSEQUENCES];
  const silent = ["Broker 2 (c:3) does not answer", ...consequences].join("; ");
  expect(rows([left, left, undefined])).toEqual([silent]);
  const behind = answer(
    whole.map(({ leader }) => ({ leader: leader % 2, isr })),
    [0, 1, 2],
    NAMES,
  );
  expect(rows([behind, behind, behind])).toEqual([
    `Broker 2 (c:3) is not in sync; ${copies}`,
    ...CONSEQUENCES,
  ]);
  expect(rows([before, before, before])).toEqual(CONSEQUENCES);
});

test("a broker that answers late, as on a loaded machine, is named only after three seconds", () => {
  const view = new ClusterView();
  const whole = answer([{ leader: 0 }], [0, 1, 2], NAMES);
  health([whole, whole, whole], view, NAMES);
  const rows = (silentMs: number) =>
    judgeTopics({
      clients: {
        unresponsiveBrokers: (ms = 0) => (silentMs >= ms ? ["b:2"] : []),
        foreignBrokers: () => [],
        outdatedBrokers: () => [],
        view,
      },
      topics: () => [],
    }).warnings([]);
  expect(rows(2_900)).toEqual([]);
  expect(rows(3_000)).toEqual(["Broker 1 (b:2) does not answer"]);
});

test("an address in the settings at which no broker is listed has no row beside that of a broker", () => {
  const view = new ClusterView();
  const whole = answer([{ leader: 0 }], [0, 1, 2], NAMES);
  health([whole, whole, whole], view, NAMES);
  const rows = (silent: string[]) =>
    judgeTopics({
      clients: {
        unresponsiveBrokers: () => silent,
        foreignBrokers: () => [],
        outdatedBrokers: () => [],
        view,
      },
      topics: () => [],
    }).warnings(CONSEQUENCES);
  const nor = (address: string) => `nor does ${address}, at which no broker is listed`;
  expect(rows(["b:2", "boot:9", "c:3", "c:9"])).toEqual([
    ["Broker 1 (b:2) does not answer", nor("boot:9"), ...CONSEQUENCES].join("; "),
    ["Broker 2 (c:3) does not answer", nor("c:9")].join("; "),
  ]);
  expect(rows(["b:2", "boot:9"])).toEqual([
    ["Broker 1 (b:2) does not answer", nor("boot:9"), ...CONSEQUENCES].join("; "),
  ]);
  // It is a cause of its own where all listed brokers answer.
  expect(rows(["a:9", "boot:9"])).toEqual([
    ["Broker a:9 does not answer", ...CONSEQUENCES].join("; "),
    "Broker boot:9 does not answer",
  ]);
});

test("each broker that is away and each that is behind has one row, whatever lacks copies", () => {
  const subsets = fc.subarray([0, 1, 2], { minLength: 1 });
  const statement = fc.record({ leader: fc.constantFrom(-1, 0, 1, 2), isr: subsets });
  const property = fc.property(
    fc.array(statement, { minLength: 1, maxLength: 4 }),
    fc.subarray([0, 1, 2], { maxLength: 2 }),
    (statements, silent) => {
      const view = new ClusterView();
      const before = answer([{ leader: 0 }], [0, 1, 2], NAMES);
      health([before, before, before], view, NAMES);
      const after = answer(statements, [0, 1, 2], NAMES);
      const answers = [0, 1, 2].map((id) => (silent.includes(id) ? undefined : after));
      const rows = health(answers, view, NAMES).warnings(CONSEQUENCES);
      const subjects = rows.map((row) => row.split("; ")[0]!);
      expect(new Set(subjects).size).toBe(subjects.length);
      for (const id of silent) {
        const name = `Broker ${id} (${ADDRESSES[id]})`;
        // Its row alone begins with its name: what lacks it is named there.
        expect(subjects.filter((it) => it.startsWith(`${name} does`))).toHaveLength(1);
        expect(subjects.filter((it) => it.includes(name) && it.endsWith("sync"))).toEqual([]);
      }
      const consequences = rows.flatMap((row) => row.split("; ").slice(1));
      if (silent.length > 0) expect(consequences).toEqual(expect.arrayContaining(CONSEQUENCES));
      else expect(subjects).toEqual(expect.arrayContaining(CONSEQUENCES));
    },
  );
  fc.assert(property, { numRuns: runs(300, 3_000) });
});

test("a topic is missing only when brokers answer that it does not exist", () => {
  const missing = "The topic p.events does not exist: restore it";
  const there = answer([{ leader: 0 }]);
  expect(health([answer(3), answer(3), answer(3)]).missing(true)).toEqual([missing]);
  expect(health([undefined, undefined, answer(3)]).missing(true)).toEqual([missing]);
  for (const answers of [
    [there, there, there],
    [undefined, undefined, undefined],
  ]) {
    expect(health(answers).missing(true)).toEqual([]);
  }
  const denied = health([answer(29), answer(29), answer(29)]).missing(true);
  expect(denied).toEqual([expect.stringContaining("the right")]);
  expect(health([answer(3), answer(3), answer(3)]).warnings()).toEqual([]);
});

test("missing topics without which a node is ready are named apart from the vital ones", () => {
  const names = ["p.events", "p.nodes"];
  const { missing } = health([answer(3, [0, 1, 2], names)], new ClusterView(), names);
  expect(missing(true)).toEqual(["The topic p.events does not exist: restore it"]);
  expect(missing(false)).toEqual(["The topic p.nodes does not exist: restore it"]);
});

test("a sentence names what is wrong with a broker that answers, and what the operator can do", () => {
  const view = new ClusterView();
  const whole = answer([{ leader: 0 }], [0, 1, 2], NAMES);
  health([whole, whole, whole], view, NAMES);
  const outdated = (over: object) => ({ address: "a:1", forMs: 3_000, isListed: true, ...over });
  const rows = (over: object) =>
    judgeTopics({
      clients: {
        unresponsiveBrokers: () => [],
        foreignBrokers: () => [],
        outdatedBrokers: () => [],
        view,
        ...over,
      },
      topics: () => [],
    }).warnings();
  expect(rows({ foreignBrokers: () => [{ address: "x:9", clusterId: "other" }] })).toEqual([
    "Broker x:9 belongs to another Kafka cluster, other, and is not used: name only brokers of one cluster in cluster.kafka",
  ]);
  const alone = outdated({ partitions: [], isListed: false });
  expect(rows({ outdatedBrokers: () => [alone] })).toEqual([
    "Broker 0 (a:1) answers, but the other brokers do not list it: check its network to them",
  ]);
  expect(rows({ outdatedBrokers: () => [{ ...alone, forMs: 2_999 }] })).toEqual([]);
  const partitions = [
    { topic: "p.events", partition: 1, named: "a:1", latest: "b:2" },
    { topic: "p.events", partition: 0, named: "a:1", latest: "b:2" },
    { topic: "p.nodes", partition: 0, named: "a:1" },
    { topic: "p.nodes", partition: 2, latest: "b:2" },
  ];
  expect(rows({ outdatedBrokers: () => [outdated({ partitions })] })).toEqual([
    "Broker 0 (a:1) disagrees with the other brokers on who leads, it names a:1 and not b:2 for p.events 0, 1, a:1 and not no leader for p.nodes 0, no leader and not b:2 for p.nodes 2: check its network to them",
  ]);
});

test("a topic is named whose copies are too few to be written, and one that brokers refuse", () => {
  const few = answer([{ leader: 0, isr: [0] }, { leader: 0 }, { leader: 0, isr: [0, 1] }]);
  expect(health([few, few, few]).warnings()).toEqual([
    "Broker 1 (b:2) and Broker 2 (c:3) are not in sync; p.events has too few copies in sync, and is not written, in partitions 0",
    "Broker 2 (c:3) is not in sync; copies are missing of p.events",
  ]);
  const leaderless = answer([{ leader: -1 }]);
  expect(health([leaderless, leaderless, leaderless]).warnings()).toEqual([
    "Broker 0 (a:1) and Broker 1 (b:2) and Broker 2 (c:3) are unavailable or not in sync; p.events has no leader, and is neither read nor written, in partitions 0",
  ]);
  for (const code of [3, 100]) {
    expect(health([answer(code), answer(code), answer(code)]).missing(true)).toEqual([
      "The topic p.events does not exist: restore it",
    ]);
  }
  const odd = answer(7);
  expect(health([odd, odd, odd]).missing(true)).toEqual([
    "The brokers answer for the topic p.events with error 7",
  ]);
});
