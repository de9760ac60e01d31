import { expect, test } from "bun:test";
import {
  batchBytes,
  bodyOf,
  firstFrameOf,
  GUEST_INPUT_BYTES_MAX,
  heldBytes,
} from "../../../src/sandbox/batch/frame-events.ts";
import type { ProgramBatch } from "../../../src/sandbox/program.ts";
import { decodeFrame, GuestFrameWriter } from "../../../src/sandbox/protocol/guest-frames.ts";

/** A batch of events of these sizes in bytes, each of which is a JSON text of one number. */
function batchOf(sizes: readonly number[], shared = "{}", own = ""): ProgramBatch {
  return {
    events: sizes.map((size, n) => Buffer.from(`${n}`.padEnd(size))),
    metadata: sizes.map(() => ({ shared, own })),
  };
}

const indexes = (count: number) => Array.from({ length: count }, (_, index) => index);

test("a frame has the first events, up to a number", () => {
  const batch = batchOf(Array(600).fill(3));
  expect(firstFrameOf(indexes(500), batch)).toEqual(indexes(500));
  expect(firstFrameOf(indexes(501), batch)).toEqual(indexes(500));
  const odd = indexes(600).filter((index) => index % 2 === 1);
  expect(firstFrameOf(odd, batch)).toEqual(odd);
});

test("a frame has the first events, up to a number of bytes with their metadata, and one at least", () => {
  const half = GUEST_INPUT_BYTES_MAX / 2 - 5;
  const fitting = batchOf([half, half, 2], "{}", "1,2");
  expect(firstFrameOf([0, 1], fitting)).toEqual([0, 1]);
  expect(firstFrameOf([0, 1, 2], fitting)).toEqual([0, 1]);
  expect(firstFrameOf([0, 1], batchOf([half, half + 1], "{}", "1,2"))).toEqual([0]);
  const large = batchOf([1, 2 * GUEST_INPUT_BYTES_MAX, 1]);
  expect(firstFrameOf([1, 2], large)).toEqual([1]);
  expect(firstFrameOf([0, 2], large)).toEqual([0, 2]);
});

test("a request has the events that were taken, with their own metadata", () => {
  const batch: ProgramBatch = {
    events: ["10", "11", "12"].map((text) => Buffer.from(text)),
    metadata: ["a", "b", "a"].map((name, at) => ({ shared: `{"n":"${name}"}`, own: `${at}` })),
  };
  const sent = (taken: number[]) => {
    const { sizes, body } = bodyOf(taken, batch);
    const frame = new GuestFrameWriter().write({}, body);
    const bytes = decodeFrame(Buffer.from(frame.subarray(4))).body.toString();
    const parts = [bytes.slice(0, sizes.eventsBytes), bytes.slice(sizes.eventsBytes)];
    return { count: sizes.count, parts: parts.map((part) => JSON.parse(part)) };
  };
  const [a, b] = [{ n: "a" }, { n: "b" }];
  expect(sent([0, 1, 2])).toEqual({
    count: 3,
    parts: [
      [10, 11, 12],
      [
        [a, b],
        [
          [0, 0],
          [1, 1],
          [0, 2],
        ],
      ],
    ],
  });
  expect(sent([1, 2])).toEqual({
    count: 2,
    parts: [
      [11, 12],
      [
        [b, a],
        [
          [0, 1],
          [1, 2],
        ],
      ],
    ],
  });
});

test("the bytes of a batch are those of its events and metadata, shared ones with each", () => {
  expect(batchBytes(batchOf([3, 4], "{}", "1"))).toBe(13);
  expect(batchBytes(batchOf([]))).toBe(0);
});

test("an outcome takes its bytes, and some for each output or error", () => {
  const bytes = (count: number) => new Uint8Array(count);
  expect(heldBytes({ events: [] })).toBe(0);
  expect(heldBytes({ events: [bytes(10), bytes(5)] })).toBe(2 * 200 + 15);
  expect(heldBytes({ error: { message: "abc" } })).toBe(200 + 6);
});
