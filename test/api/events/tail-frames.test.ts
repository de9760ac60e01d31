import { expect, test } from "bun:test";
import { TAIL_BYTES_PER_SECOND_MAX } from "../../../src/api/limits.ts";
import { encodeTailMessage, TailFrames } from "../../../src/api/tail-frames.ts";
import type { TailMessage } from "../../../src/pipeline/live-tail.ts";
import { RATE_BURST_SECONDS } from "../../../src/settings/limits.ts";

const message = (bytes: number): TailMessage => ({
  stage: "received",
  sourceId: "s1",
  at: 0,
  messageId: "m1",
  event: "x".repeat(bytes),
});

test("a message has one frame, which all subscribers share", () => {
  const frames = new TailFrames(() => 0);
  const one = message(10);
  expect(frames.frameOf("w", one)).toBe(frames.frameOf("w", one)!);
});

test("a message is an event of its stage, whose times are in ISO 8601", () => {
  const one = { ...message(1), stage: "delivered" as const };
  const text = (it: TailMessage) => encodeTailMessage(it).toString();
  const start = 'event: delivered\ndata: {"stage":"delivered","sourceId":"s1","messageId":"m1",';
  const at = '"event":"x","at":"1970-01-01T00:00:00.000Z"';
  expect(text(one)).toBe(`${start}${at}}\n\n`);
  const received = '"receivedAt":"1970-01-01T00:00:00.005Z"';
  expect(text({ ...one, receivedAt: 5 })).toBe(`${start}${at},${received}}\n\n`);
});

test("bytes of a workspace are bounded, and of a message all subscribers get it or none", () => {
  let now = 0;
  const frames = new TailFrames(() => now);
  const subscribers = [1, 2, 3, 4];
  const sent = (workspaceId: string, count: number) => {
    let bytes = 0;
    for (let n = 0; n < count; n++) {
      const one = message(100_000);
      const got = subscribers.map(() => frames.frameOf(workspaceId, one)?.length ?? 0);
      expect(new Set(got).size).toBe(1);
      bytes += got.reduce((sum, length) => sum + length, 0);
    }
    return bytes;
  };
  const oneMessage = 4 * 101_000;
  const burst = sent("w", 1_000);
  const bound = TAIL_BYTES_PER_SECOND_MAX * RATE_BURST_SECONDS;
  expect(burst).toBeGreaterThan(bound - oneMessage);
  expect(burst).toBeLessThan(bound + oneMessage);
  // Another workspace has bytes of its own.
  expect(sent("other", 1)).toBeGreaterThan(0);
  now += 10_000;
  expect(sent("w", 1_000)).toBeGreaterThan(bound - 2 * oneMessage);
});
