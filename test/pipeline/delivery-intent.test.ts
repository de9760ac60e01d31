import { expect, test } from "bun:test";
import { createDeliveryIntent } from "../../src/pipeline/delivering/batching-queue.ts";
import type { Output } from "../../src/pipeline/model/lane-event.ts";

const now = Date.UTC(2026, 10, 27, 12, 34, 56, 789);
const outputs = (...origins: object[]) =>
  origins.map((origin) => ({ laneEvent: { origin } }) as Output);
const event = (log: string, sequence: number, more = {}) => ({ log, sequence, ...more });

test("a delivery of new events is named after its time and its first event", () => {
  const intent = createDeliveryIntent(outputs(event("events/3", 7), event("events/3", 5)), now);
  expect(intent.name).toMatch(/^20261127T123456789Z-events_3-7-[0-9a-f]{12}$/);
  expect(intent).toStrictEqual({ name: intent.name, ends: { "events/3": 8 } });
});

test("names of a lane's deliveries ascend within a second, whatever their positions are", () => {
  const names = [9, 10, 100].map(
    (sequence, ms) => createDeliveryIntent(outputs(event("0", sequence)), now + ms).name,
  );
  expect(names.toSorted()).toEqual(names);
});

test("two deliveries of the same events have different names", () => {
  const [one, other] = [1, 2].map(() => createDeliveryIntent(outputs(event("0", 1)), now));
  expect(one!.name).not.toBe(other!.name);
});

test("a delivery ends behind its furthest event, in each log and each replay", () => {
  const intent = createDeliveryIntent(
    outputs(
      event("1", 4, { replayId: "r" }),
      event("0", 2),
      event("1", 9),
      event("1", 3, { replayId: "r" }),
      event("0", 6, { replayId: "r" }),
      event("0", 0, { replayId: "s" }),
    ),
    now,
  );
  expect(intent.name).toMatch(/^20261127T123456789Z-replay-1-4-[0-9a-f]{12}$/);
  expect(intent.ends).toEqual({ "0": 3, "1": 10 });
  expect(intent.replays).toEqual({ r: { "1": 5, "0": 7 }, s: { "0": 1 } });
  expect(intent.letter).toBeUndefined();
});

test("a delivery of dead letters ends with the newest of them", () => {
  const letter = (id: string) => ({ requeued: { id } });
  const intent = createDeliveryIntent(outputs(letter("b"), letter("c"), letter("a")), now);
  expect(intent.name).toMatch(/^20261127T123456789Z-replay-[0-9a-f]{12}$/);
  expect(intent).toStrictEqual({ name: intent.name, ends: {}, letter: "c" });
});
