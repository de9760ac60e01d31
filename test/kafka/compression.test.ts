import { expect, test } from "bun:test";
import type { Connection, Producer, Writer } from "@platformatic/kafka";
import { InvariantError } from "../../src/assert.ts";
import { ClusterView } from "../../src/kafka/cluster-view.ts";
import { loadKafkaLibrary } from "../../src/kafka/library.ts";
import { type BrokerClock, createProduceClient } from "../../src/kafka/produce-client.ts";

const kafka = await loadKafkaLibrary();

/** Kafka's Produce request, which sends nothing and gets these answers for partition 0. */
const produceApi = (answer: () => object[]) => ({
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
    const partitionResponses = answer().map((it) => ({ index: 0, ...it }));
    return { responses: [{ name: "t", partitionResponses }] };
  },
});

/** A client of a broker that answers with these codes, and its requests' first times. */
function clientOf(answers: { errorCode: number; logAppendTimeMs?: bigint }[], clock?: BrokerClock) {
  const times: bigint[] = [];
  const api = produceApi(() => answers.splice(0, 1));
  const connection = {
    send(_key: number, _version: number, make: () => Writer) {
      const { buffer } = make();
      // The batch ends the request but for two empty lists of tagged fields and that of the
      // request.
      times.push(buffer.readBigInt64BE(buffer.length - 3 - BATCH_BYTES + 27));
    },
  };
  const producer = {
    connections: {
      get: (_: unknown, done: (error: null, found: unknown) => void) => done(null, connection),
    },
    [kafka.kGetApi]: (_: string, done: (error: null, found: unknown) => void) => done(null, api),
  } as unknown as Producer;
  const options = { waitMs: 0, compression: "none" as const, ...(clock && { clock }) };
  return {
    times,
    client: createProduceClient(kafka, producer, { view: new ClusterView(), ...options }),
  };
}

/** Length of a batch with one record of one byte. */
const BATCH_BYTES = 61 + 8;
const batchOf = (isRepeated: boolean) => [
  { topic: "t", partition: 0, sequence: 0, messages: [{ value: Buffer.from("x") }], isRepeated },
];
const producerId = { producerId: 1n, producerEpoch: 0 };

test("a broker that refuses the time of this process gets batches without times", async () => {
  const before = BigInt(Date.now());
  const { client, times } = clientOf([32, 0, 0].map((errorCode) => ({ errorCode })));
  const [refused] = await client.produce(1, producerId, batchOf(false));
  expect(client.classify(client.errorOf(refused!))).toBe("retry");
  for (const isRepeated of [true, false]) await client.produce(1, producerId, batchOf(isRepeated));
  expect(times[0]).toBeGreaterThanOrEqual(before);
  expect(times[0]).toBeLessThanOrEqual(BigInt(Date.now()));
  expect(times.slice(1)).toEqual([-1n, -1n]);
});

test("clocks are compared at a first write alone, if the answer has the broker's time", async () => {
  const times = [-1n, 7n, 0n];
  const notes: number[] = [];
  const clock = { note: (_: number, at: number) => notes.push(at) } as unknown as BrokerClock;
  const answers = times.map((logAppendTimeMs) => ({ errorCode: 0, logAppendTimeMs }));
  const { client } = clientOf([...answers, { errorCode: 0 }], clock);
  for (const isRepeated of [false, true, false, false]) {
    await client.produce(1, producerId, batchOf(isRepeated));
  }
  expect(notes).toEqual([0]);
});

test("an error decides whether its batch is sent again, under which id, or given up", () => {
  const { client } = clientOf([]);
  const errors: [string, unknown][] = [
    ["producer-id", new kafka.ProtocolError(45)],
    ["producer-id", new kafka.ProtocolError(59)],
    ["retry", new kafka.ProtocolError(76)],
    ["retry", new kafka.ProtocolError(32)],
    ["retry", new kafka.ProtocolError(6)],
    ["fatal", new kafka.ProtocolError(10)],
    ["retry", new kafka.NetworkError("Connection closed")],
    ["fatal", new InvariantError("Broken")],
  ];
  expect(errors.map(([, error]) => client.classify(error))).toEqual(
    errors.map(([it]) => it) as never,
  );
  const error = client.errorOf({
    topic: "t",
    index: 0,
    errorCode: 10,
    errorMessage: "Too long",
    baseOffset: -1n,
  });
  expect(error).toMatchObject({ apiCode: 10, serverErrorMessage: "Too long" });
});

test("a broker that refuses compression gets the same batch plain, and all later ones", async () => {
  const sizes: number[] = [];
  const answers = [76, 0, 0];
  const api = produceApi(() => [{ errorCode: answers.shift()!, baseOffset: 0n }]);
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
