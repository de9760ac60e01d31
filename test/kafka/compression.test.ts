import { expect, test } from "bun:test";
import type { Connection, Producer, Writer } from "@platformatic/kafka";
import { ClusterView } from "../../src/kafka/cluster-view.ts";
import { loadKafkaLibrary } from "../../src/kafka/library.ts";
import { createProduceClient } from "../../src/kafka/produce-client.ts";

const kafka = await loadKafkaLibrary();

test("a broker that refuses compression gets the same batch plain, and all later ones", async () => {
  const sizes: number[] = [];
  const answers = [76, 0, 0];
  const api = {
    async async(over: Connection) {
      over.send(
        0,
        9,
        () => undefined as never,
        () => {},
        true,
        true,
        () => {},
      );
      const partitionResponses = [{ index: 0, errorCode: answers.shift()!, baseOffset: 0n }];
      return { responses: [{ name: "t", partitionResponses }] };
    },
  };
  const connection = {
    send: (_key: number, _version: number, make: () => Writer) => sizes.push(make().length),
  };
  const producer = {
    connections: {
      get: (_: unknown, done: (error: null, found: unknown) => void) => done(null, connection),
    },
    [kafka.kGetApi]: (_: string, done: (error: null, found: unknown) => void) => done(null, api),
  } as unknown as Producer;
  const view = new ClusterView();
  const client = createProduceClient(kafka, producer, { view, waitMs: 0, compression: "zstd" });
  const texts = Array.from({ length: 2_000 }, (_, n) => `user-${n * 7919} Checkout`);
  const value = Buffer.from(texts.join());
  const batches = [{ topic: "t", partition: 0, sequence: 0, messages: [{ value }] }];
  const send = async () => {
    const [response] = await client.produce(1, { producerId: 1n, producerEpoch: 0 }, batches);
    return response!;
  };
  const refused = await send();
  expect(client.classify(client.errorOf(refused))).toBe("retry");
  expect((await send()).errorCode).toBe(0);
  expect((await send()).errorCode).toBe(0);
  expect(sizes[0]!).toBeLessThan(value.length / 2);
  expect(sizes[1]!).toBeGreaterThan(value.length);
  expect(sizes[2]!).toBe(sizes[1]!);
});
