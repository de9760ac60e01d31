import { describe, expect, test } from "bun:test";
import { InvariantError } from "../../src/assert.ts";
import { PartitionQueue, sequenceAfter } from "../../src/kafka/partition-queue.ts";

const first = { producerId: 7n, producerEpoch: 0 };
const second = { producerId: 8n, producerEpoch: 0 };
const all = (waiting: readonly string[]) => waiting.length;

function queueOf(...records: string[]): PartitionQueue<string> {
  const queue = new PartitionQueue<string>();
  queue.push(...records);
  return queue;
}

test("sequence numbers begin at 0 again after the largest that a batch can have", () => {
  expect(sequenceAfter(2 ** 31 - 1, 2)).toBe(1);
});

test("a batch in flight keeps its records, producer id and sequence number", () => {
  const queue = queueOf("a", "b");
  const batch = queue.fill(first, () => 1);
  queue.push("c");
  expect(queue.fill(second, all)).toBe(batch);
  expect(queue.acknowledge()).toEqual(["a"]);
  expect(queue.fill(first, all)).toEqual({ records: ["b", "c"], producerId: first, sequence: 1 });
});

test("records that were not written are sent again before the others, with the same number", () => {
  const queue = queueOf("a", "b", "c");
  queue.fill(first, () => 2);
  queue.requeue(["b"]);
  expect(queue.fill(first, all)).toEqual({ records: ["b", "c"], producerId: first, sequence: 0 });
});

describe("a partition queue refuses to", () => {
  test("use a producer id again after a batch of it was abandoned", () => {
    const queue = queueOf("a", "b");
    queue.fill(first, () => 1);
    expect(queue.abandon()).toEqual(["a"]);
    expect(() => queue.fill(first, all)).toThrow(InvariantError);
    expect(queue.fill(second, all).sequence).toBe(0);
  });

  test("use a producer id again that the broker does not know", () => {
    const queue = queueOf("a");
    queue.fill(first, all);
    queue.requeueWithNewProducerId();
    expect(() => queue.fill(first, all)).toThrow(InvariantError);
    expect(queue.fill(second, all).records).toEqual(["a"]);
  });

  test("acknowledge a batch whose sequence number is not the next", () => {
    const queue = queueOf("a");
    Object.assign(queue.fill(first, all), { sequence: 5 });
    expect(() => queue.acknowledge()).toThrow(InvariantError);
    expect(queue.abandon()).toEqual(["a"]);
  });

  test("acknowledge when no batch is in flight", () => {
    expect(() => queueOf("a").acknowledge()).toThrow(InvariantError);
  });

  test("make an empty batch", () => {
    expect(() => queueOf().fill(first, all)).toThrow(InvariantError);
  });
});
