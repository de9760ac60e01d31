import { describe, expect, test } from "bun:test";
import { basename, dirname, resolve } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { AnswerLengths } from "../../src/kafka/bounded-connections.ts";
import { allowDecompression, boundDecompression } from "../../src/kafka/bounded-decompression.ts";
import { KafkaAnswerError } from "../../src/kafka/bounded-reader.ts";
import { runs } from "../tier.ts";
import {
  answerKinds,
  answerKindsByRequest,
  kafka,
  mutate,
  Random,
  randomAnswer,
  readAnswer,
  readsMax,
} from "./random-answers.ts";

/** `bun test/kafka/fuzz-long.ts` reads 10 million of each kind. */
const MUTATED = runs(40, 1_000);

describe("an answer of a broker", () => {
  test.each([...answerKindsByRequest])(
    "%s: a changed one is read or refused, in as many steps as it has bytes",
    (_, kinds) => {
      let refused = 0;
      for (const kind of kinds) {
        const random = new Random(kind.key + 100 * kind.version);
        for (let run = 0; run < MUTATED; run++) {
          const answer = randomAnswer(kind, random);
          expect(readAnswer(kind, answer).isValid).toBe(true);
          const bytes = mutate(answer, random);
          const { isValid, reads } = readAnswer(kind, bytes);
          if (!isValid) refused += 1;
          if (reads > readsMax(kind, bytes.length)) {
            expect(`${reads} values in ${bytes.toString("hex")}`).toBe("fewer");
          }
        }
      }
      expect(refused).toBeGreaterThan(0);
    },
  );

  const metadata = answerKinds.find(({ name }) => name === "metadataV12")!;
  const head = "00" + "00000000";
  const broker = "00000001" + "0278" + "00002384" + "00";
  test.each([
    [
      "2 billion tagged fields of which each leads back",
      `${head}02${broker}ffffffff0700faffffff0f`,
    ],
    [
      "2 billion brokers of which each leads back",
      `${head}ffffffff07${broker}0000000002f1ffffff0f`,
    ],
    ["a count beyond the bytes that are left", `${head}ffffff7f${broker}`],
  ])("%s: is refused in few steps", (_, hex) => {
    const bytes = Buffer.concat([Buffer.from(hex, "hex"), Buffer.alloc(16)]);
    const result = readAnswer(metadata, bytes.subarray(1));
    expect(result.isValid).toBe(false);
    expect(result.reads).toBeLessThan(50);
  });

  test.each(["gzip", "zstd"] as const)(
    "%s: records that grow too much are refused",
    (compression) => {
      const value = Buffer.alloc(40 << 20);
      const batch = kafka.createRecordsBatch([{ topic: "t", partition: 0, value }], {
        compression,
      });
      expect(batch.length).toBeLessThan(100_000);
      allowDecompression(batch.length);
      expect(() => kafka.readRecordsBatches(kafka.Reader.from(batch.buffer))).toThrow();
    },
  );

  test("an answer to a step of signing in is short", () => {
    const kind = answerKinds.find(({ name }) => name === "saslAuthenticateV2")!;
    const answer = (bytes: number) =>
      kafka.Writer.create()
        .appendInt16(0)
        .appendString(null)
        .appendBytes(Buffer.alloc(bytes, "x"))
        .appendInt64(0n)
        .appendTaggedFields().buffer;
    const most = 1_000 + 2_048 - answer(1_000).length;
    expect(readAnswer(kind, answer(most)).isValid).toBe(true);
    expect(readAnswer(kind, answer(most + 1)).isValid).toBe(false);
  });
});

test.each([
  ["negative", "fffffffa"],
  ["smaller than an answer", "00000003"],
  ["larger than an answer", "10000001"],
])("a length that is %s ends the sequence of answers, in any pieces", (_, hex) => {
  const valid = Buffer.from("00000005" + "0102030405" + "00000004" + "00000000", "hex");
  const length = Buffer.from(hex, "hex");
  for (const size of [1, 3, 5, valid.length]) {
    const lengths = new AnswerLengths();
    const expectAll = (bytes: Buffer) => {
      for (let at = 0; at < bytes.length; at += size) lengths.expect(bytes.subarray(at, at + size));
    };
    expectAll(valid);
    const message = `Expected an answer of 4 to 268435456 bytes, got the length ${length.readUInt32BE()}`;
    expect(() => expectAll(length)).toThrow(new KafkaAnswerError(message));
  }
  new AnswerLengths().expect(Buffer.from("10000000", "hex"));
});

test.each(["snappy", "lz4", "gzip", "zstd"] as const)(
  "%s: records of any text are read as they were written",
  (compression) => {
    const text = fc.oneof(
      fc.string({ maxLength: 2_000 }),
      fc.tuple(fc.string({ maxLength: 40 }), fc.nat(4_000)).map(([one, n]) => one.repeat(n)),
    );
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 5 }), (texts) => {
        const messages = texts.map((one) => ({
          ...{ topic: "t", partition: 0 },
          value: Buffer.from(one),
        }));
        const { buffer } = kafka.createRecordsBatch(messages, { compression });
        allowDecompression(buffer.length);
        const [batch] = kafka.readRecordsBatches(kafka.Reader.from(buffer));
        expect(batch!.records.map(({ value }) => value!.toString())).toEqual(texts);
      }),
      { numRuns: runs(60, 1_000) },
    );
  },
);

test("one module loads the Kafka library, which it bounds", async () => {
  const loaders: string[] = [];
  for await (const path of new Bun.Glob("src/**/*.ts").scan(".")) {
    const code = await Bun.file(path).text();
    if (/\bimport\("[^"]*@platformatic\/kafka|^import \{.*@platformatic\/kafka/m.test(code)) {
      loaders.push(path);
    }
  }
  expect(loaders).toEqual(["src/kafka/library.ts"]);
});

test("a destination loads no client of the Kafka library, whose import compiles schemas", async () => {
  const source = await Bun.file("src/kafka/library.ts").text();
  const entries = source.matchAll(/import\("\.\.\/\.\.\/(node_modules[^"]+)"\)/g);
  const files = new Set([...entries].map(([, path]) => resolve(path!)));
  for (const file of files) {
    const code = await Bun.file(file).text();
    for (const [, path] of code.matchAll(/(?:from|import) ["'](\.[^"']+)["']/g)) {
      files.add(resolve(dirname(file), path!));
    }
  }
  expect(files.size).toBeGreaterThan(100);
  const clients = [...files].filter((path) => path.includes("/dist/clients/"));
  expect(clients.map((path) => basename(path))).toEqual(["consumer-protocol.js"]);
});

function boundedAlgorithms() {
  const algorithms = Object.fromEntries(
    [1, 2, 3, 4].map((number) => [number, { decompressSync: (data: Buffer) => data }]),
  );
  boundDecompression(algorithms);
  return algorithms;
}

test("compressed records of a response of 55 MiB, the longest of an honest broker, are read", () => {
  allowDecompression(55 << 20);
  const algorithms = boundedAlgorithms();
  const records = Buffer.from("records");
  expect(algorithms[1]!.decompressSync(gzipSync(records))).toEqual(records);
  expect(algorithms[4]!.decompressSync(zstdCompressSync(records))).toEqual(records);
});

test("the records of a response decompress to 16 MiB and 200 times its bytes together, and no more", () => {
  const algorithms = boundedAlgorithms();
  const bytesMax = (16 << 20) + 200 * 100_000;
  const part = gzipSync(Buffer.alloc(bytesMax - 1), { level: 1 });
  const [one, two] = [gzipSync(Buffer.alloc(1)), gzipSync(Buffer.alloc(2))];
  const decompress = (...parts: Buffer[]) => {
    allowDecompression(100_000);
    return parts.map((it) => algorithms[1]!.decompressSync(it).length);
  };
  expect(decompress(part, one)).toEqual([bytesMax - 1, 1]);
  expect(() => decompress(part, two)).toThrow();
  expect(() => decompress(part, one, one)).toThrow("Expected fewer compressed records");
});
