import { expect, test } from "bun:test";
import { openNodeBus } from "../../src/cluster/node-bus/node-bus.ts";
import { openOrderedTopic } from "../../src/cluster/ordered-log/ordered-topic.ts";
import { connectClients } from "../../src/kafka/client.ts";
import { brokersMissing } from "../cluster/brokers.ts";
import { openTopic, withBrokers } from "../cluster/support.ts";
import { describeWith } from "../counterpart.ts";
import { quiet } from "../log/support.ts";

/** Takes connections and requests, and never answers. */
function standStill() {
  let connections = 0;
  const server = Bun.listen({
    ...{ hostname: "127.0.0.1", port: 0 },
    socket: {
      open() {
        connections += 1;
      },
      data() {},
    },
  });
  return {
    address: `127.0.0.1:${server.port}`,
    connections: () => connections,
    [Symbol.dispose]: () => server.stop(true),
  };
}

describeWith(brokersMissing)("clients of several brokers", () => {
  const { brokers } = withBrokers(1);

  test("send nothing to a broker that stands still, also when it is named first", async () => {
    using still = standStill();
    const clients = await connectClients({ brokers: [still.address, ...brokers().addresses] });
    try {
      const replicas = 1;
      const { producer, fetcher } = await openTopic(clients, {
        name: "still",
        partitions: 2,
        replicas,
      });
      expect(await producer.send(1, () => Buffer.from("there"))).toBe(0n);
      expect(await fetcher.offsets("end")).toEqual([0n, 1n]);
      expect((await fetcher.fetch(1, 0n)).values).toHaveLength(1);
      const open = { clients, replicas, logger: quiet };
      const [log] = await openOrderedTopic({ ...open, name: "still-ordered", partitions: 1 });
      await log!.append(Buffer.from("there"));
      expect(await log!.knownEnd()).toBe(1);
      const exchange = await openNodeBus({ ...open, topic: "still-bus" });
      exchange.publish("hello");
      await exchange.close();
      // It is asked whether it is there, and nothing else.
      expect(still.connections()).toBe(1);
    } finally {
      await clients.close();
    }
  }, 300_000);
});
