import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type AttemptResult,
  FAILED_ATTEMPTS_MAX,
  type FailedAttempt,
  fullRefusal,
  withAttempt,
} from "../../src/pipeline/model/attempt.ts";
import { EventList } from "../../src/pipeline/model/event-list.ts";
import {
  eventKey,
  parseFromNode,
  parseJsonOrText,
  shownOutput,
} from "../../src/pipeline/model/input-event.ts";
import {
  createOutput,
  forEachSource,
  type LaneEvent,
  outputBytes,
} from "../../src/pipeline/model/lane-event.ts";
import { noCounts, pendingLetters } from "../../src/pipeline/model/replay-job.ts";
import { OutcomeList } from "../../src/pipeline/recent/latest-outcomes.ts";
import { RECENT_EVENTS_MAX } from "../../src/settings/limits.ts";
import { laneEvent } from "./doubles.ts";

/** Values of the pipeline, each by itself. */

test("a list of events keeps their order, whichever of them is removed", () => {
  const step = fc.oneof(fc.constant("add" as const), fc.nat(20));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const list = new EventList();
      const model: LaneEvent[] = [];
      for (const what of steps) {
        if (what === "add") {
          const event = laneEvent();
          list.add(event);
          model.push(event);
        } else if (model.length > 0) {
          const [event] = model.splice(what % model.length, 1);
          expect(list.remove(event!)).toBe(true);
          expect([event!.before, event!.after]).toEqual([undefined, undefined]);
          expect(list.remove(event!)).toBe(false);
        }
        expect(list.first).toBe(model[0]!);
        expect(list.size).toBe(model.length);
      }
      const walked: LaneEvent[] = [];
      for (let at = list.first; at !== undefined; at = at.after) walked.push(at);
      expect(walked.length).toBe(model.length);
      expect(walked.every((event, index) => event === model[index])).toBe(true);
    }),
  );
});

describe("failed attempts of an event", () => {
  const attempt = (at: number): FailedAttempt => ({ at, durationMs: 1 });

  test("are kept up to a number: the first two, and the latest ones", () => {
    let all: FailedAttempt[] | undefined;
    for (let at = 0; at < FAILED_ATTEMPTS_MAX; at++) all = withAttempt(all, attempt(at));
    expect(all!.map(({ at }) => at)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    for (const at of [10, 11]) expect(withAttempt(all, attempt(at))).toBe(all!);
    expect(all!.map(({ at }) => at)).toEqual([0, 1, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  const response = { status: 400 };
  const refused = (...indexes: number[]) =>
    new Map(indexes.map((index) => [index, `No ${index}`] as const));
  const results: [AttemptResult, number, unknown][] = [
    [{ kind: "rejected", reason: "No", response }, 2, { reason: "No", response }],
    [{ kind: "delivered" }, 2, undefined],
    [{ kind: "delivered", refused: refused(1) }, 2, undefined],
    [{ kind: "delivered", refused: refused(1, 0) }, 2, { reason: "No 1", response: undefined }],
    [{ kind: "delivered", refused: refused() }, 0, undefined],
    [{ kind: "retry", reason: "Busy" }, 2, undefined],
  ];
  test.each(results)(
    "the result %j of %d events is a refusal of all: %j",
    (result, events, cause) => expect<unknown>(fullRefusal(result, events)).toEqual(cause),
  );
});

test("an event is identified by its source, its time and its messageId", () => {
  const event = { sourceId: "s", receivedAt: 1, messageId: "m" };
  const others = [{ sourceId: "t" }, { receivedAt: 2 }, { messageId: "n" }];
  const keys = [event, ...others.map((other) => ({ ...event, ...other }))].map(eventKey);
  expect(new Set(keys).size).toBe(4);
  expect(eventKey({ ...event })).toBe(keys[0]!);
});

test("JSON is shown with all digits, and other text as it is", () => {
  expect(parseJsonOrText(Buffer.from('{"a":1}'))).toEqual({ a: 1 });
  expect(JSON.stringify(parseJsonOrText("12345678901234567890"))).toBe("12345678901234567890");
  expect(parseJsonOrText("{")).toBe("{");
  expect(parseFromNode('{"a":1}')).toEqual({ a: 1 });
  const event = { a: 1 };
  expect(parseFromNode(event)).toBe(event);
});

test.each([
  ['{"headers":{"a":1},"n":1}', { n: 1 }],
  [
    '{"integrations":{"All":true,"One":{"path":"/x","n":1},"Two":null},"n":1}',
    { integrations: { All: true, One: { n: 1 }, Two: null }, n: 1 },
  ],
  ['{"integrations":"no object","path":1}', { integrations: "no object" }],
  ['{"properties":{"path":1}}', { properties: { path: 1 } }],
  ["[1]", [1]],
  ["7", 7],
  ["{", "{"],
])("the event %s is shown without the members that shape a request", (json, expected) => {
  for (const text of [json, Buffer.from(json)]) {
    expect<unknown>(shownOutput(text, ["headers", "path"])).toEqual(expected);
  }
});

test("items of one source that follow each other are counted together", () => {
  const runs: [string, number][] = [];
  const each = (text: string) => {
    runs.length = 0;
    forEachSource(
      [...text],
      (it) => it,
      (id, count) => void runs.push([id, count]),
    );
    return runs.map(([id, count]) => `${id}${count}`).join(" ");
  };
  expect(each("aabaaac")).toBe("a2 b1 a3 c1");
  expect(each("a")).toBe("a1");
  expect(each("")).toBe("");
});

test("outputs take the bytes of their JSON and some more each", () => {
  const output = (bytes: number) => createOutput(laneEvent(), new Uint8Array(bytes));
  expect(outputBytes([])).toBe(0);
  const one = outputBytes([output(0)]);
  expect(one).toBeGreaterThan(100);
  expect(outputBytes([output(10), output(7)])).toBe(2 * one + 17);
  expect(createOutput(laneEvent(), new Uint8Array(1))).toMatchObject({
    byCode: false,
    attempts: 0,
  });
  expect(createOutput(laneEvent(), new Uint8Array(1), {} as never).byCode).toBe(true);
});

test.each([
  ["dead-letters", { moved: 9 }, 9],
  ["dead-letters", { moved: 9, delivered: 1, dropped: 2, failed: 3, discarded: 1 }, 2],
  ["dead-letters", { moved: 1, delivered: 2 }, 0],
  ["purge", { moved: 9 }, 0],
])("a job of kind %s with the counts %j waits for %d outcomes", (kind, counts, expected) => {
  const job = { kind, counts: { ...noCounts, ...counts } };
  expect(pendingLetters(job as never)).toBe(expected);
});

describe("the latest outcomes of a destination", () => {
  const kept = (n: number, over = {}) => ({
    ...{ sourceId: "s", messageId: "1234", receivedAt: 0, at: n, json: new Uint8Array(10) },
    ...{ received: undefined },
    ...over,
  });

  test("take the bytes of both events and of their texts", () => {
    const sizeOf = (over: object) => {
      const list = new OutcomeList("delivered", "d");
      list.push(kept(0, over));
      return list.bytes;
    };
    const plain = sizeOf({});
    expect(plain).toBeGreaterThan(100);
    expect(sizeOf({ json: undefined })).toBe(plain - 10);
    expect(sizeOf({ received: new Uint8Array(7) })).toBe(plain + 7);
    expect(sizeOf({ messageId: "12345" })).toBe(plain + 2);
    expect(sizeOf({ reason: "abc" })).toBe(plain + 6);
    expect(sizeOf({ response: { status: 400, body: "abcd" } })).toBe(plain + 8);
    expect(sizeOf({ response: { status: 400 } })).toBe(plain);
  });

  test("are bounded by number and by bytes, the newest being kept", () => {
    const list = new OutcomeList("dropped", "d");
    for (let n = 0; n <= RECENT_EVENTS_MAX; n++) list.push(kept(n));
    const each = list.bytes / RECENT_EVENTS_MAX;
    expect([list.outcomes.length, list.outcomes[0]!.at]).toEqual([RECENT_EVENTS_MAX, 1]);
    list.trimTo(3 * each);
    expect(list.outcomes.map(({ at }) => at)).toEqual(
      [-2, -1, 0].map((n) => RECENT_EVENTS_MAX + n),
    );
    list.trimTo(3 * each - 1);
    expect([list.outcomes.length, list.bytes]).toEqual([2, 2 * each]);
    list.trimTo(0);
    expect([list.outcomes.length, list.bytes]).toEqual([0, 0]);
  });
});
