import { expect, test } from "bun:test";
import fc from "fast-check";
import { Partition } from "../../src/destinations/kafka/partition.ts";
import type { KafkaEventRecord } from "../../src/destinations/kafka/record.ts";
import { outgoing } from "./outgoing.ts";

const producerId = { producerId: 7n, producerEpoch: 0 };
const [OK, TOO_LARGE, DUPLICATE, OUT_OF_ORDER, INVALID, NO_LEADER] = [0, 10, 46, 45, 87, 6];

function recordOf(n: number, bytes = 100): KafkaEventRecord {
  const record = { topic: "t", key: undefined, value: Buffer.from(String(n)), result: undefined };
  return { event: outgoing({ n }), ...record, bytes };
}

const numbersOf = (records: readonly KafkaEventRecord[]) => records.map((it) => Number(it.value));

/** A broker that takes batches without wrong records, each number once and in order. */
class Log {
  readonly kept: number[] = [];
  #next = 0;
  #last: { sequence: number; count: number } | undefined;

  constructor(
    readonly isWrong: (record: KafkaEventRecord) => boolean,
    readonly code: number,
  ) {}

  take({ queue }: Partition): { errorCode: number } {
    const { records, sequence } = queue.batch!;
    const [last, count] = [this.#last, records.length];
    if (last?.sequence === sequence && last.count === count) return { errorCode: DUPLICATE };
    if (records.some(this.isWrong)) return { errorCode: this.code };
    if (sequence !== this.#next) return { errorCode: OUT_OF_ORDER };
    this.kept.push(...numbersOf(records));
    this.#next = sequence + count;
    this.#last = { sequence, count };
    return { errorCode: OK };
  }
}

test("wrong records are refused alone, and an answer that was lost doubles nothing", () => {
  const wrongs = fc.uniqueArray(fc.nat(59), { maxLength: 6 });
  const lost = fc.array(fc.constantFrom("no", "before", "after"), { minLength: 1, maxLength: 9 });
  const code = fc.constantFrom(TOO_LARGE, INVALID);
  fc.assert(
    fc.property(wrongs, lost, code, (wrong, losses, error) => {
      const partition = new Partition("t", 0);
      partition.queue.push(...Array.from({ length: 60 }, (_, n) => recordOf(n)));
      const log = new Log(({ value }) => wrong.includes(Number(value)), error);
      const refused: number[] = [];
      for (let turn = 0; !partition.queue.isEmpty; turn++) {
        expect(turn).toBeLessThan(2_000);
        partition.fill(producerId);
        const loss = turn % 3 === 0 ? losses[turn % losses.length] : "no";
        const answer = loss === "before" ? { errorCode: NO_LEADER } : log.take(partition);
        // The broker has accepted the batch, but its response is lost.
        if (loss === "after") continue;
        refused.push(...numbersOf(partition.settle(answer).refused.map(({ record }) => record)));
      }
      expect(refused.toSorted((a, b) => a - b)).toEqual(wrong.toSorted((a, b) => a - b));
      expect(log.kept).toEqual(
        Array.from({ length: 60 }, (_, n) => n).filter((n) => !wrong.includes(n)),
      );
    }),
    { numRuns: 300 },
  );
});

test("after a wrong record batches grow again; after one that was too large they stay below", () => {
  for (const { code, count } of [
    { code: INVALID, count: 64 },
    { code: TOO_LARGE, count: 32 },
  ]) {
    const partition = new Partition("t", 0);
    partition.queue.push(...Array.from({ length: 64 }, (_, n) => recordOf(n)));
    partition.fill(producerId);
    partition.settle({ errorCode: code });
    for (let sizes = 1; sizes <= 64; sizes *= 2) {
      if (partition.queue.isEmpty) break;
      partition.fill(producerId);
      partition.settle({ errorCode: OK });
    }
    partition.queue.push(...Array.from({ length: 64 }, (_, n) => recordOf(n)));
    partition.fill(producerId);
    expect({ code, count: partition.queue.batch!.records.length }).toEqual({ code, count });
  }
});

test("a batch keeps its sequence number until its outcome is known, and is renumbered under a new producer id", () => {
  const partition = new Partition("t", 0);
  partition.queue.push(...[recordOf(0), recordOf(1)]);
  partition.fill(producerId);
  partition.settle({ errorCode: OK });
  partition.queue.push(...[recordOf(2)]);
  partition.fill(producerId);
  const { batch } = partition.queue;
  expect(batch).toMatchObject({ sequence: 2, producerId });
  expect(partition.settle({ errorCode: NO_LEADER }).retryReason).toBeString();
  const other = { producerId: 8n, producerEpoch: 0 };
  partition.fill(other);
  expect(partition.queue.batch).toBe(batch!);
  partition.settle({ errorCode: OUT_OF_ORDER });
  partition.fill(other);
  expect(partition.queue.batch).toMatchObject({ sequence: 0, producerId: other });
  expect(numbersOf(partition.queue.batch!.records)).toEqual([2]);
});

test("a batch has records up to a million bytes, and at least one", () => {
  for (const [sizes, counts] of [
    [
      [600_000, 400_000, 1],
      [2, 1],
    ],
    [
      [600_000, 400_001],
      [1, 1],
    ],
    [
      [2_000_000, 1],
      [1, 1],
    ],
    [
      [1, 1_000_000],
      [1, 1],
    ],
  ] as const) {
    const partition = new Partition("t", 0);
    partition.queue.push(...sizes.map((bytes, n) => recordOf(n, bytes)));
    for (const count of counts) {
      expect(partition.fill(producerId).records).toHaveLength(count);
      expect(partition.settle({ errorCode: OK }).written).toHaveLength(count);
    }
    expect(partition.queue.isEmpty).toBe(true);
  }
});

/** A partition whose batch of `count` records of 100 bytes is sent. */
function sentBatch(count: number): Partition {
  const partition = new Partition("t", 0);
  partition.queue.push(...Array.from({ length: count }, (_, n) => recordOf(n)));
  partition.fill(producerId);
  return partition;
}

test("records that a broker names are refused with its reasons, and the others are sent again", () => {
  const partition = sentBatch(3);
  const recordErrors = [
    { batchIndex: 1, batchIndexErrorMessage: "No key." },
    { batchIndex: 2, batchIndexErrorMessage: null },
    { batchIndex: 3, batchIndexErrorMessage: "Not one of these" },
  ];
  const { refused, written, retryReason } = partition.settle({ errorCode: INVALID, recordErrors });
  expect(refused.map(({ record, reason }) => [Number(record.value), reason])).toEqual([
    [1, "The topic does not take such a record: No key (topic t, error 87)"],
    [2, "The topic does not take such a record (topic t, error 87)"],
  ]);
  expect([written, retryReason]).toEqual([[], undefined]);
  expect(numbersOf(partition.fill(producerId).records)).toEqual([0]);
});

test("a refused batch is halved until its record is alone, which has the broker's reason", () => {
  const [invalid, large] = [sentBatch(5), sentBatch(5)];
  expect(invalid.settle({ errorCode: INVALID, errorMessage: "why" }).refused).toEqual([]);
  expect(large.settle({ errorCode: TOO_LARGE }).refused).toEqual([]);
  expect(invalid.fill(producerId).records).toHaveLength(3);
  // Half of the bytes are 250, of which two records leave 50.
  expect(large.fill(producerId).records).toHaveLength(2);
  for (const recordErrors of [[], undefined, [{ batchIndex: 0, batchIndexErrorMessage: "own" }]]) {
    const one = sentBatch(1);
    const answer = {
      errorCode: INVALID,
      errorMessage: "why",
      ...(recordErrors && { recordErrors }),
    };
    const [refusal] = one.settle(answer).refused;
    const said = recordErrors?.length ? "own" : "why";
    expect(refusal!.reason).toBe(
      `The topic does not take such a record: ${said} (topic t, error 87)`,
    );
    expect(one.queue.isEmpty).toBe(true);
  }
});

test("a failure that passes keeps the batch, with a reason to try again", () => {
  const partition = sentBatch(2);
  const { retryReason, written, refused } = partition.settle({
    ...{ errorCode: NO_LEADER, errorMessage: "moved" },
  });
  expect(retryReason).toBe("The partition has another leader: moved (topic t, error 6)");
  expect([written, refused, partition.queue.batch?.records.length]).toEqual([[], [], 2]);
});
