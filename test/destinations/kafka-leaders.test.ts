import { expect, setDefaultTimeout, spyOn, test } from "bun:test";
import fc from "fast-check";
import type { BrokerConnections } from "../../src/destinations/kafka/broker-connections.ts";
import { KAFKA_TOPICS_MAX } from "../../src/destinations/kafka/limits.ts";
import { TopicMetadata } from "../../src/destinations/kafka/topic-metadata.ts";
import {
  deliver,
  listen,
  METADATA,
  metadataAnswer,
  PRODUCE,
  produceAnswer,
  producerIdAnswer,
} from "./kafka-fake-broker.ts";

setDefaultTimeout(300_000);

const TOO_FEW_IN_SYNC = 19;

/**
 * Two brokers: the first is cut off from the second, and names itself as the leader, with a lower
 * epoch. Each lists the brokers that `lists` says.
 */
async function startCutBrokers(lists: "both" | "itself") {
  const produced = [0, 0];
  const addresses: string[] = [];
  for (const index of [0, 1]) {
    addresses[index] = await listen((key) => {
      if (key === METADATA) {
        const all = addresses.map((address, at) => [at + 1, address] as const);
        const listed = lists === "both" || index === 0 ? all : all.slice(1);
        return metadataAnswer(listed, { leader: index + 1, epoch: 5 + index });
      }
      if (key !== PRODUCE) return producerIdAnswer;
      produced[index]! += 1;
      return produceAnswer(index === 0 ? TOO_FEW_IN_SYNC : 0);
    });
  }
  return { addresses, produced };
}

test("a record reaches the leader with the highest epoch, whichever broker is asked first", async () => {
  for (const lists of ["both", "itself"] as const) {
    for (const order of [[0, 1], [1, 0], [0]]) {
      const { addresses, produced } = await startCutBrokers(lists);
      const brokers = order.map((index) => addresses[index]).join(",");
      expect(await deliver({ brokers })).toEqual({ kind: "delivered" });
      expect(produced[1]).toBe(1);
      expect(produced[0]).toBeLessThanOrEqual(1);
    }
  }
});

interface Statement {
  leader: number;
  epoch: number;
}

/** Connections to brokers of which each states a leader of topic `t`; refreshes ask them. */
function metadataOf(statements: readonly Statement[]) {
  const brokers = statements.map((_, index) => ({ nodeId: index, host: `b${index}`, port: 1 }));
  let asked = 0;
  const connection = (index: number) => ({
    async exchange() {
      asked += 1;
      const { leader, epoch } = statements[index]!;
      const partitions = [{ partitionIndex: 0, leaderId: leader, leaderEpoch: epoch }];
      return { brokers, topics: [{ name: "t", topicId: "id", errorCode: 0, partitions }] };
    },
  });
  let first = 0;
  const connections = {
    connectAny: async () => connection(first),
    askSeveral: (_: unknown, ask: (it: ReturnType<typeof connection>) => Promise<unknown>) =>
      Promise.all(statements.map((_, index) => ask(connection(index)))),
  };
  const topics = new TopicMetadata(connections as unknown as BrokerConnections, false);
  const refresh = async (index: number) => {
    first = index;
    await topics.refresh(["t"], new AbortController().signal);
    return topics.leader("t", 0);
  };
  return { topics, refresh, asked: () => asked };
}

test("after a failed request the leader is that of the highest epoch of all that answer", async () => {
  const statement = fc.record({ leader: fc.nat(2), epoch: fc.nat(3) });
  await fc.assert(
    fc.asyncProperty(
      fc.array(statement, { minLength: 3, maxLength: 3 }),
      fc.nat(2),
      async (statements, first) => {
        const { topics, refresh, asked } = metadataOf(statements);
        await refresh(first);
        expect(asked()).toBe(1);
        topics.expireAll();
        const { host } = (await refresh(first))!;
        expect(asked()).toBe(4);
        const highest = Math.max(...statements.map(({ epoch }) => epoch));
        const latest = statements.filter(({ epoch }) => epoch === highest);
        expect(latest.map(({ leader }) => `b${leader}`)).toContain(host);
      },
    ),
  );
});

/** Metadata of topics that brokers create when asked; `answer` says how they answer. */
function metadataOfCreated(answer: { errorCode: number; isLost: boolean }) {
  const brokers = [{ nodeId: 0, host: "b", port: 1 }];
  const partitions = [{ partitionIndex: 0, leaderId: 0, leaderEpoch: 0 }];
  const metadata = async (_: unknown, names: readonly string[]) => {
    if (answer.isLost) throw new Error("The broker closed the connection");
    const { errorCode } = answer;
    return { brokers, topics: names.map((name) => ({ name, errorCode, partitions })) };
  };
  const connection = {
    exchange(_: string, ask: (api: { async: typeof metadata }) => Promise<unknown>) {
      return ask({ async: metadata });
    },
    kafka: { ResponseError: class extends Error {} },
  };
  const connections = {
    connectAny: async () => connection,
    askSeveral: async (_: unknown, ask: (it: typeof connection) => Promise<unknown>) => [
      await ask(connection),
    ],
  };
  const topics = new TopicMetadata(connections as unknown as BrokerConnections, true);
  const refresh = (...names: string[]) => topics.refresh(names, new AbortController().signal);
  return { topics, refresh };
}

test("each time a topic is missing, brokers get ten seconds to create it", async () => {
  let now = 1_000_000;
  const clock = spyOn(performance, "now").mockImplementation(() => now);
  try {
    const answer = { errorCode: 3, isLost: false };
    const { topics, refresh } = metadataOfCreated(answer);
    const isLostAfter = async (ms: number) => {
      now += ms;
      const code = (await refresh("t")).get("t");
      return code !== undefined && topics.isLost("t", code);
    };
    for (let life = 0; life < 2; life++) {
      answer.errorCode = 3;
      expect(await isLostAfter(3_600_000)).toBe(false);
      expect(await isLostAfter(9_000)).toBe(false);
      expect(await isLostAfter(2_000)).toBe(true);
      answer.errorCode = 0;
      expect(await isLostAfter(1_000)).toBe(false);
    }
  } finally {
    clock.mockRestore();
  }
});

test("a topic that exists counts once, also after a broker was asked for it in vain", async () => {
  const answer = { errorCode: 0, isLost: false };
  const { topics, refresh } = metadataOfCreated(answer);
  const named = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, n) => `${prefix}${n}`);
  await refresh(...named("old", KAFKA_TOPICS_MAX - 10));
  topics.expireAll();
  answer.isLost = true;
  await expect(refresh("old0")).rejects.toThrow();
  expect(topics.admit(named("new", 20)).size).toBe(10);
});
