import { expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import type { BrokerConnections } from "../../src/destinations/kafka/broker-connections.ts";
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
    async request() {
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
