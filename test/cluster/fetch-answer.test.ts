import { expect, test } from "bun:test";
import {
  type Answer,
  answerOf,
  countedFrom,
  fetchedOf,
  isOutOfStep,
} from "../../src/cluster/topics/fetch-answer.ts";

const failure = (errorCode?: number) =>
  Object.assign(new Error("Failed"), errorCode === undefined ? {} : { response: { errorCode } });

test("a fetch is begun anew when its whole session was refused, and read when only partitions were", () => {
  expect([failure(), failure(0), failure(71)].map(isOutOfStep)).toEqual([false, false, true]);
  const partly = failure(0);
  expect(answerOf(partly)).toEqual({ errorCode: 0 } as never);
  for (const error of [failure(), failure(71)]) expect(() => answerOf(error)).toThrow(error);
});

/** A partition from 3 to 9, of which two record batches were answered. */
const answer = {
  ...{ logStartOffset: 3n, highWatermark: 9n },
  records: [
    {
      firstOffset: 4n,
      records: [
        { offsetDelta: 0, value: Buffer.from("a") },
        { offsetDelta: 1, value: Buffer.from("b") },
      ],
    },
    { firstOffset: 7n, records: [{ offsetDelta: 0, value: null }] },
  ],
} as unknown as Answer;

test("values are taken from the asked offset on, also of a batch that begins before it", () => {
  const valuesFrom = (from: bigint) =>
    fetchedOf(answer, from).values.map(({ offset, value }) => [offset, value.toString()]);
  expect(valuesFrom(4n)).toEqual([
    [4n, "a"],
    [5n, "b"],
    [7n, ""],
  ]);
  expect(valuesFrom(5n)).toEqual([
    [5n, "b"],
    [7n, ""],
  ]);
  expect(fetchedOf({ ...answer, records: undefined } as never, 4n)).toEqual({
    ...{ values: [], first: 3n, end: 9n, isOutOfRange: false },
  });
});

test("all offsets of an answer are counted from the base of its partition", () => {
  const fetched = { ...fetchedOf(answer, 7n), isOutOfRange: true };
  expect(countedFrom(100n, fetched)).toEqual({
    values: [{ offset: 107n, value: Buffer.alloc(0) }],
    ...{ first: 103n, end: 109n, isOutOfRange: true },
  });
});
