import { expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import type { Connection } from "@platformatic/kafka";
import fc from "fast-check";
import { loadKafkaLibrary } from "../../src/kafka/library.ts";
import { type ProduceRequest, produce } from "../../src/kafka/produce.ts";
import { type BatchRecord, recordBatch } from "../../src/kafka/record-batch.ts";

const kafka = await loadKafkaLibrary();
const versions = [3, 4, 5, 6, 7, 8, 9, 10, 11] as const;
const apiOf = (version: (typeof versions)[number]) => kafka[`produceV${version}`].api as never;

const BASE_TIME = Date.UTC(2026, 0);
const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const record: fc.Arbitrary<BatchRecord> = fc.record({
  key: fc.option(bytes, { nil: undefined }),
  value: bytes,
  headers: fc
    .array(fc.tuple(fc.string({ minLength: 1, unit: "binary" }), fc.string({ unit: "binary" })))
    .map((pairs) => pairs.flat()),
  // The library writes wrong times for records that are further apart than 2^30 ms.
  timestamp: fc.nat(2 ** 30).map((ms) => BASE_TIME + ms),
});
const batch = fc.record({
  topic: fc.constantFrom("a", "bé"),
  partition: fc.nat(2),
  sequence: fc.nat(),
  messages: fc.array(record, { minLength: 1, maxLength: 5 }),
});
const request = fc.record({
  producerId: fc.record({ producerId: fc.bigInt(0n, 2n ** 60n), producerEpoch: fc.nat(9_999) }),
  batches: fc
    .uniqueArray(batch, {
      ...{ minLength: 1, maxLength: 4 },
      selector: ({ topic, partition }) => `${topic} ${partition}`,
    })
    // The library sorts the partitions of a topic.
    .map((batches) => batches.toSorted((a, b) => a.partition - b.partition)),
  waitMs: fc.nat(),
  compression: fc.constant("none" as const),
});

/** The bytes of the request that `send` writes to a connection. */
async function written(send: (over: Connection) => Promise<unknown>): Promise<Buffer> {
  let body = Buffer.alloc(0);
  const connection = {
    async send(_key: number, _version: number, make: () => any, ...rest: any[]) {
      body = (await make()).buffer;
      rest.at(-1)(null, { responses: [] });
    },
  };
  await send(connection as unknown as Connection);
  return body;
}

function asLibraryDoes(version: (typeof versions)[number], request: ProduceRequest) {
  const { producerId, batches, waitMs } = request;
  const messages = batches.flatMap(({ topic, partition, messages }) =>
    messages.map(({ key, value, headers = [], timestamp }) => ({
      ...{ topic, partition, key, value, timestamp: BigInt(timestamp!) },
      headers: Array.from({ length: headers.length / 2 }, (_, at) => [
        Buffer.from(headers[2 * at]!),
        Buffer.from(headers[2 * at + 1]!),
      ]),
    })),
  );
  const sequences = new kafka.NumericMap(
    batches.map(({ topic, partition, sequence }) => [`${topic}:${partition}`, sequence]),
  );
  // The library takes the headers of a record as a map; two may have one name.
  const sent = messages.map((it) => ({ ...it, headers: new Map(it.headers as never) }));
  const api = kafka[`produceV${version}`].api as any;
  return written((over) => api.async(over, -1, waitMs, sent, { ...producerId, sequences }));
}

test("a Produce request of each version has the bytes that the Kafka library gives it", async () => {
  await fc.assert(
    fc.asyncProperty(request, fc.constantFrom(...versions), async (request, version) => {
      const ours = await written((over) => produce(kafka, apiOf(version), over, request));
      expect(ours.equals(await asLibraryDoes(version, request))).toBe(true);
    }),
    { numRuns: 200 },
  );
});

test("an error about one partition leaves the answers for the others, any other error fails", async () => {
  const partitionResponses = [
    { index: 0, errorCode: 0, baseOffset: 7n },
    { index: 1, errorCode: 6, baseOffset: -1n },
  ];
  const response = { responses: [{ name: "t", partitionResponses }] };
  const errors: Error[] = [
    new kafka.ResponseError(0, 11, { "/1": [6, null] }, response),
    new kafka.NetworkError("Connection closed"),
  ];
  const send = () => {
    const api = { async: () => Promise.reject(errors.shift()) };
    const request = { batches: [], producerId: { producerId: 1n, producerEpoch: 0 } };
    const options = { ...request, waitMs: 0, compression: "none" as const };
    return produce(kafka, api as never, {} as Connection, options);
  };
  expect(await send()).toEqual(partitionResponses.map((it) => ({ ...it, topic: "t" })));
  await expect(send()).rejects.toThrow("Connection closed");
});

test("the records of a compressed batch are those of the plain one, and its checksum covers them", async () => {
  const messages = ["a", "ä", "b".repeat(2_000)].map((text) => ({
    ...{ value: Buffer.from(text), headers: ["n", text], timestamp: 7 },
  }));
  const options = {
    producerId: { producerId: 3n, producerEpoch: 1 },
    sequence: 9,
    compression: "none" as const,
  };
  const plain = await recordBatch(kafka, messages, options);
  const compressed = await recordBatch(kafka, messages, { ...options, compression: "gzip" });
  expect(gunzipSync(compressed.subarray(61)).equals(plain.subarray(61))).toBe(true);
  expect(compressed.readInt16BE(21)).toBe(1);
  expect(compressed.readInt32BE(8)).toBe(compressed.length - 12);
  expect(compressed.readUInt32BE(17)).toBe(kafka.crc32c(compressed.subarray(21)));
});

test("zstd leaves a batch plain that is small, or that a reader would refuse", async () => {
  const options = {
    producerId: { producerId: 3n, producerEpoch: 1 },
    sequence: 9,
    compression: "none" as const,
  };
  const batch = async (value: Buffer) => {
    const plain = await recordBatch(kafka, [{ value, timestamp: 7 }], options);
    const sent = await recordBatch(kafka, [{ value, timestamp: 7 }], {
      ...options,
      compression: "zstd",
    });
    return { plain, sent, isPlain: sent.equals(plain) };
  };
  const events = Array.from(
    { length: 40 },
    (_, n) => `&userId=${n}&name=Checkout&plan=pro&q=${n * n}`,
  );
  const alike = await batch(Buffer.from(events.join("".padEnd(80, "-"))));
  expect(alike.sent.readInt16BE(21)).toBe(4);
  expect(alike.sent.length).toBeLessThan(alike.plain.length / 4);
  const records = Bun.zstdDecompressSync(alike.sent.subarray(61));
  expect(Buffer.from(records).equals(alike.plain.subarray(61))).toBe(true);
  expect(alike.sent.readUInt32BE(17)).toBe(kafka.crc32c(alike.sent.subarray(21)));
  expect((await batch(Buffer.from("a".repeat(1_000)))).isPlain).toBe(true);
  expect((await batch(Buffer.alloc(1 << 20, "a"))).isPlain).toBe(true);
});

test("zstd compresses the records of a batch from 4,096 bytes on", async () => {
  const options = {
    producerId: { producerId: 3n, producerEpoch: 1 },
    sequence: 9,
    timestamp: 7,
  };
  const text = Array.from({ length: 900 }, (_, n) => (n * 7_919).toString(36)).join(" ");
  // A record takes nine bytes beside its value.
  for (const [length, algorithm] of [
    [4_086, 0],
    [4_087, 4],
  ] as const) {
    const messages = [{ value: Buffer.from(text.slice(0, length)) }];
    const plain = await recordBatch(kafka, messages, { ...options, compression: "none" });
    expect(plain.length - 61).toBe(length + 9);
    const sent = await recordBatch(kafka, messages, { ...options, compression: "zstd" });
    expect([length, sent.readInt16BE(21)]).toEqual([length, algorithm]);
  }
});

test("records without times have that of the first, or else that of the batch, or none", async () => {
  const timesOf = async (times: (number | undefined)[], timestamp?: number) => {
    const messages = times.map((timestamp) => ({
      ...{ value: Buffer.from("x") },
      ...(timestamp !== undefined && { timestamp }),
    }));
    const producerId = { producerId: 1n, producerEpoch: 0 };
    const options = { producerId, sequence: 0, compression: "none" as const, timestamp };
    const encoded = await recordBatch(kafka, messages, options);
    const read = kafka.readRecordsBatch(kafka.Reader.from(encoded));
    const first = Number(read.firstTimestamp);
    return [read.records.map((it) => first + Number(it.timestampDelta)), Number(read.maxTimestamp)];
  };
  expect(await timesOf([undefined, undefined])).toEqual([[-1, -1], -1]);
  expect(await timesOf([undefined, 9, undefined], 5)).toEqual([[5, 9, 5], 9]);
  expect(await timesOf([7, undefined, 3], 5)).toEqual([[7, 7, 3], 7]);
});

test("records keep their times, however far apart they are", async () => {
  const times = [0, 2 ** 31, -(2 ** 31) - 1, 2 ** 41, -(2 ** 41)].map((ms) => BASE_TIME + ms);
  const messages = times.map((timestamp) => ({ value: Buffer.from("x"), timestamp }));
  const options = {
    producerId: { producerId: 3n, producerEpoch: 1 },
    sequence: 0,
    compression: "none" as const,
  };
  const encoded = await recordBatch(kafka, messages, options);
  const read = kafka.readRecordsBatch(kafka.Reader.from(encoded));
  const [first, latest] = [Number(read.firstTimestamp), Number(read.maxTimestamp)];
  expect(read.records.map((it) => first + Number(it.timestampDelta))).toEqual(times);
  expect(latest).toBe(Math.max(...times));
});
