import { expect, test } from "bun:test";
import * as kafka from "@platformatic/kafka";
import fc from "fast-check";
import { writeRequest } from "../../src/kafka/produce-client.ts";
import { crc32c, encodeBatch } from "../../src/kafka/record-batch.ts";

const value = fc.uint8Array({ maxLength: 300 }).map((it) => Buffer.from(it));
const values = fc.array(value, { minLength: 1, maxLength: 5 });
const identity = fc.record({
  producerId: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
  producerEpoch: fc.nat(32_767),
});
const AT_TIME = 27;

test("the sum of bytes is CRC-32C, also in parts", () => {
  expect(crc32c(Buffer.from("123456789"), 0)).toBe(0xe3069283);
  const parts = fc.tuple(fc.uint8Array({ maxLength: 99 }), fc.uint8Array({ maxLength: 99 }));
  fc.assert(
    fc.property(parts, ([one, other]) => {
      const whole = Buffer.concat([Buffer.alloc(3), one, other]).subarray(3);
      expect(crc32c(whole, 0)).toBe(kafka.jsCRC32C(whole));
      expect(crc32c(other, crc32c(one, 0))).toBe(crc32c(whole, 0));
    }),
  );
});

test("a request has the bytes that the library's has", () => {
  const batch = fc.record({ values, sequence: fc.nat(2 ** 31 - 1) });
  const batches = fc.array(batch, { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(batches, identity, fc.boolean(), (batches, identity, isCompact) => {
      const ours = batches.map(({ values, sequence }, partition) => {
        return { partition, pieces: encodeBatch(values, identity, sequence) };
      });
      const request = { topic: "t", batches: ours, waitMs: 5, isCompact };
      const messages = batches.flatMap(({ values }, partition) => {
        const timestamp = ours[partition]!.pieces[0]!.readBigInt64BE(AT_TIME);
        return values.map((value) => ({ topic: "t", partition, value, timestamp }));
      });
      const numbers = batches.map((it, partition) => [`t:${partition}`, it.sequence] as const);
      const options = { ...identity, sequences: new kafka.NumericMap(numbers) };
      const { createRequest } = isCompact ? kafka.produceV11 : kafka.produceV7;
      const theirs = createRequest(-1, 5, messages as never, options);
      expect(writeRequest(kafka.Writer.create(), request).buffer).toEqual(theirs.buffer);
    }),
  );
});
