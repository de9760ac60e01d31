import { expect, spyOn, test } from "bun:test";
import { openNodeBus } from "../../src/cluster/node-bus/node-bus.ts";
import { openOrderedTopic } from "../../src/cluster/ordered-log/ordered-topic.ts";
import { connectClients } from "../../src/kafka/client.ts";
import { loadKafkaLibrary } from "../../src/kafka/library.ts";
import { brokersMissing } from "../cluster/brokers.ts";
import { openTopic, withBrokers } from "../cluster/support.ts";
import { describeWith } from "../counterpart.ts";
import { waitFor } from "../e2e/server.ts";
import { quiet } from "../log/support.ts";

/** Kafka's numbers of the requests for metadata, and for the versions of requests. */
const METADATA = 3;
const API_VERSIONS = 18;
/** Bytes of a request's length, before its number. */
const LENGTH_BYTES = 4;

/** Takes connections and requests, and never answers. */
function standStill() {
  const requests = new Set<number>();
  const server = Bun.listen({
    ...{ hostname: "127.0.0.1", port: 0 },
    socket: {
      data(_, request) {
        requests.add(request.readUInt16BE(LENGTH_BYTES));
      },
    },
  });
  return {
    address: `127.0.0.1:${server.port}`,
    /** Kafka's numbers of the requests that it has got. */
    requests,
    [Symbol.dispose]: () => server.stop(true),
  };
}

describeWith(brokersMissing)("clients of several brokers", () => {
  const { brokers, clients } = withBrokers(1);

  test("share the requests for metadata, and need none to send and to read", async () => {
    const { Connection } = await loadKafkaLibrary();
    const topic = { name: "shared", partitions: 1, replicas: 1 };
    const { producer, fetcher } = await openTopic(clients(), topic);
    await producer.send(0, () => Buffer.from("first"));
    const sent = spyOn(Connection.prototype, "send");
    const asked = () => sent.mock.calls.filter(([key]) => key === METADATA).length;
    try {
      const admins = [clients().admin(), clients().admin(), clients().admin()];
      const all = admins.flatMap((admin) =>
        Array.from({ length: 100 }, () =>
          admin.metadata({ topics: ["shared"], forceUpdate: true }),
        ),
      );
      for (const { topics } of await Promise.all(all)) expect(topics.get("shared")).toBeDefined();
      // One request may have been in flight, and one more begins each second.
      expect(asked()).toBeLessThan(30);
      sent.mockClear();
      for (let n = 0; n < 50; n++) {
        await producer.send(0, () => Buffer.from("more"));
        await fetcher.fetch(0, BigInt(n));
      }
      expect(asked()).toBeLessThan(30);
    } finally {
      sent.mockRestore();
    }
  }, 300_000);

  test("send nothing to a stopped broker, even if it is named first", async () => {
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
      const exchange = await openNodeBus({ ...open, name: "still-bus" });
      exchange.publish("hello");
      await exchange.close();
      // How long it has been silent is known, and that others answer.
      await waitFor(() => clients.unresponsiveBrokers(1_000).length > 0, "a second of silence");
      expect(clients.unresponsiveBrokers()).toEqual([still.address]);
      expect(clients.unresponsiveBrokers(3_600_000)).toEqual([]);
      // It is asked whether it is there, and nothing else.
      const { size } = still.requests.difference(new Set([METADATA, API_VERSIONS]));
      expect(size).toBe(0);
    } finally {
      await clients.close();
    }
  }, 300_000);
});
