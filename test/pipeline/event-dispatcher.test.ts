import { expect, test } from "bun:test";
import { createDispatcher } from "../../src/pipeline/lane/event-dispatcher.ts";
import type { LaneBudget } from "../../src/pipeline/memory-budget.ts";
import {
  createOutput,
  type LaneEvent,
  type Output,
  outputBytes,
} from "../../src/pipeline/model/lane-event.ts";
import type { RouteDecision } from "../../src/pipeline/model/routes.ts";
import type { TransformResult } from "../../src/pipeline/transforming/transform.ts";
import { laneEvent } from "./doubles.ts";

const send: RouteDecision = { kind: "send" };

/** A dispatcher of a lane that refuses the outputs of the events in `full`. */
function setUp(full: ReadonlySet<LaneEvent> = new Set()) {
  const pushed: [user: string, outputs: readonly Output[]][] = [];
  const settled: unknown[] = [];
  const reserved: number[] = [];
  let empty = 0;
  const dispatch = createDispatcher({
    memory: {
      dispatch(event: LaneEvent, bytes: number) {
        if (full.has(event)) return false;
        reserved.push(bytes);
        return true;
      },
      dispatchEmpty() {
        empty += 1;
      },
    } as unknown as LaneBudget,
    delivery: { push: (user, outputs) => void pushed.push([user, outputs]) },
    committer: {
      settle(outputs, outcome) {
        for (const { laneEvent, bytes, live } of outputs) {
          settled.push([laneEvent, String(bytes), outcome, live]);
        }
      },
    },
  });
  return { dispatch, pushed, settled, reserved, empty: () => empty };
}

const outputsOf = (event: LaneEvent, ...texts: string[]): TransformResult => ({
  outputs: texts.map((text) => createOutput(event, Buffer.from(text))),
});
const bytesOf = (result: TransformResult) => outputBytes("outputs" in result ? result.outputs : []);

test("each event of a batch goes to delivery, or ends at once, by its decision and its result", () => {
  const { dispatch, pushed, settled, reserved, empty } = setUp();
  const events = Array.from({ length: 5 }, () => laneEvent());
  const [sent, gone, refused, dropped, last] = events as [LaneEvent, ...LaneEvent[]];
  const live = { id: "program" } as never;
  const results = [
    outputsOf(sent, "a", "bb"),
    { outcome: { kind: "dropped" }, live } as TransformResult,
    outputsOf(last!, "c"),
  ];
  const decisions: RouteDecision[] = [
    send,
    { kind: "discard" },
    { kind: "refused", reason: "Connection is disabled" },
    send,
    send,
  ];
  const { rest, bytesPerEvent } = dispatch(events, decisions, results);
  expect(rest).toEqual([]);
  expect(pushed).toEqual([
    ["u", (results[0] as { outputs: Output[] }).outputs],
    ["u", (results[2] as { outputs: Output[] }).outputs],
  ]);
  expect(events.map(({ openOutputs }) => openOutputs)).toEqual([2, 1, 1, 1, 1]);
  expect(settled).toEqual([
    [gone, "{}", { kind: "discarded" }, undefined],
    [
      refused,
      "{}",
      { kind: "dead-letter", stage: "deliver", reason: "Connection is disabled" },
      undefined,
    ],
    [dropped, "{}", { kind: "dropped" }, live],
  ]);
  expect(empty()).toBe(3);
  expect(reserved).toEqual([bytesOf(results[0]!), bytesOf(results[2]!)]);
  expect(bytesPerEvent).toBe((reserved[0]! + reserved[1]!) / 5);
});

test("a batch stops at the first event whose outputs do not fit, which counts for the average size", () => {
  const events = [laneEvent(), laneEvent(), laneEvent()] as const;
  const { dispatch, pushed, settled } = setUp(new Set([events[1]]));
  const results = events.map((event, n) => outputsOf(event, "x".repeat(10 * n)));
  const found = dispatch(events, [send, send, send], results);
  expect(found.rest).toEqual(events.slice(1));
  expect(found.bytesPerEvent).toBe((bytesOf(results[0]!) + bytesOf(results[1]!)) / 2);
  expect([pushed.length, settled]).toEqual([1, []]);
  expect(events.map(({ openOutputs }) => openOutputs)).toEqual([1, 0, 0]);
});

test("a batch stops at the first event without a result", () => {
  const events = [laneEvent(), laneEvent(), laneEvent()] as const;
  const { dispatch, pushed } = setUp();
  const results = [outputsOf(events[0], "a"), undefined, outputsOf(events[2], "c")];
  const found = dispatch(events, [send, send, send], results);
  expect(found).toEqual({ rest: events.slice(1), bytesPerEvent: bytesOf(results[0]!) });
  expect(pushed).toHaveLength(1);
  expect(setUp().dispatch(events, [send, send, send], [])).toEqual({
    ...{ rest: [...events], bytesPerEvent: 0 },
  });
  expect(setUp().dispatch([], [], [])).toEqual({ rest: [], bytesPerEvent: 0 });
});

test("a batch has one decision for each event, no more results than events, and no empty outputs", () => {
  const event = laneEvent();
  const { dispatch } = setUp();
  expect(() => dispatch([event], [], [])).toThrow("has one route decision");
  const results = [outputsOf(event, "a"), outputsOf(event, "b")];
  expect(() => dispatch([event], [send], results)).toThrow("no more results");
  expect(() => dispatch([event], [send], [{ outputs: [] }])).toThrow("has outputs");
});
