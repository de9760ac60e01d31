import { beforeEach, describe, expect, test } from "bun:test";
import type { Destination } from "../../src/catalog/model.ts";
import { createLaneEvent, createOutput, type Output } from "../../src/pipeline/model/lane-event.ts";
import { LatestOutcomes } from "../../src/pipeline/recent/latest-outcomes.ts";
import {
  RECENT_ANSWER_BYTES_MAX,
  RECENT_EVENT_BYTES_MAX,
  RECENT_EVENTS_BYTES_MAX,
  RECENT_EVENTS_MAX,
  RECENT_EVENTS_OF_WORKSPACE_BYTES_MAX,
  RECENT_EVENTS_PER_SECOND_MAX,
} from "../../src/settings/limits.ts";
import { FakeLive } from "./doubles.ts";
import { numbersTo } from "./rig.ts";

let live: FakeLive;
let recent: LatestOutcomes;
let elapsed: number;
let bytesRead: number;
beforeEach(() => {
  live = new FakeLive();
  elapsed = 0;
  recent = new LatestOutcomes(live, { elapsed: () => elapsed }, ["header"]);
  bytesRead = 0;
});

/** A destination of a workspace, which the catalog has. */
function destination(id: string, workspaceId = "workspace"): Destination {
  const added = { id, workspaceId } as Destination;
  live.destinations.set(id, added);
  return added;
}

const jsonOf = (event: object) => Buffer.from(JSON.stringify(event));

/** An output of an event with this number. Counts how often its bytes are read. */
function output(
  n: number,
  more: { bytes?: number; made?: object; sourceId?: string; receivedAt?: number } = {},
): Output {
  const received = jsonOf({ n, filler: "x".repeat(more.bytes ?? 0) });
  const input = {
    messageId: `m${n}`,
    sourceId: more.sourceId ?? "source",
    receivedAt: more.receivedAt ?? 1_000 + n,
    type: "track",
    event: { json: received, user: "", userId: "", anonymousId: "" },
  };
  const origin = { log: "0", sequence: n, connectionId: "c" };
  const event = createLaneEvent({ input, origin, retryWindowStart: 0, bytes: 0 });
  const sent = more.made === undefined ? received : jsonOf(more.made);
  const made = createOutput(event, sent);
  made.byCode = more.made !== undefined;
  return Object.defineProperty(made, "bytes", {
    get() {
      bytesRead += 1;
      return sent;
    },
  });
}

const delivered = { kind: "delivered" } as const;
const dropped = { kind: "dropped" } as const;

const numbers = (workspaceId = "workspace", filter = {}, limit = 10_000) =>
  recent.list(workspaceId, filter, limit).map(({ messageId }) => Number(messageId.slice(1)));

describe("recent outcomes", () => {
  test("are those of the last events, newest first, by destination, outcome and source", () => {
    const [one, two] = [destination("one"), destination("two")];
    recent.add([output(1), output(2)], delivered, one, 5_000);
    recent.add([output(3)], dropped, one, 5_001);
    const reason = "HTTP 422 from receiver";
    const response = { status: 422, body: "no" };
    const failed = { kind: "dead-letter", stage: "deliver", reason, response } as const;
    recent.add([output(4)], failed, two, 5_002);
    const event = '{"n":4,"filler":""}';
    expect(recent.list("workspace", {}, 1)).toEqual([
      {
        outcome: "dead-letter",
        sourceId: "source",
        destinationId: "two",
        messageId: "m4",
        receivedAt: 1_004,
        at: 5_002,
        received: event,
        event,
        reason,
        response,
      },
    ]);
    for (const [filter, expected] of [
      [{}, [4, 3, 1, 2]],
      [{ destinationId: "one" }, [3, 1, 2]],
      [{ outcome: "delivered" }, [1, 2]],
      [{ destinationId: "two", outcome: "dropped" }, []],
      [{ outcome: "in-flight" }, []],
      [{ sourceId: "source" }, [4, 3, 1, 2]],
      [{ sourceId: "other" }, []],
    ] as const) {
      expect([filter, numbers("workspace", filter)]).toEqual([filter, [...expected]]);
    }
    expect(numbers("other workspace")).toEqual([]);
  });

  test("have the event before and after user code, without members that may be credentials", () => {
    const made = { n: 1, added: true, header: { Authorization: "secret" } };
    recent.add([output(1, { made })], delivered, destination("one"), 1);
    expect(recent.list("workspace", {}, 1)).toMatchObject([
      { received: '{"n":1,"filler":""}', event: '{"n":1,"added":true}' },
    ]);
    expect(JSON.stringify(recent.list("workspace", {}, 1))).not.toContain("secret");
  });

  test("of an event are listed with its other outcomes, and count as one event", () => {
    const [one, two] = [destination("one"), destination("two")];
    recent.add([output(1)], delivered, one, 1);
    recent.add([output(1)], dropped, two, 2);
    recent.add([output(2)], delivered, one, 3);
    expect(numbers("workspace", { outcome: "dropped" }, 1)).toEqual([1, 1]);
    expect(numbers("workspace", {}, 1)).toEqual([2]);
    expect(numbers("workspace", {}, 2)).toEqual([2, 1, 1]);
  });

  test("of events with one messageId are those of several events", () => {
    const one = destination("one");
    recent.add([output(1), output(1, { receivedAt: 9 })], delivered, one, 1);
    recent.add([output(1, { sourceId: "other" })], dropped, one, 2);
    expect(numbers("workspace", { outcome: "dropped" })).toEqual([1]);
    expect(numbers("workspace", {}, 2)).toEqual([1, 1]);
  });

  test("leave out destinations that were deleted or belong to another workspace", () => {
    recent.add([output(1)], delivered, destination("one"), 1);
    live.destinations.delete("one");
    expect(numbers()).toEqual([]);
    destination("one", "other");
    expect(numbers()).toEqual([]);
  });

  test("of a burst are a sample, and no other event of it is copied", () => {
    const one = destination("one");
    const batch = numbersTo(10_000).map((n) => output(n));
    for (let from = 0; from < batch.length; from += 100) {
      recent.add(batch.slice(from, from + 100), delivered, one, 7_000);
    }
    expect(numbers()).toHaveLength(RECENT_EVENTS_MAX);
    expect(bytesRead).toBe(RECENT_EVENTS_MAX);
    // Another outcome, another destination and another second have tokens of their own.
    recent.add([output(1)], dropped, one, 7_500);
    recent.add([output(2)], delivered, destination("two"), 7_501);
    elapsed = 1_000;
    recent.add(batch.slice(0, 100), delivered, one, 8_000);
    expect(numbers().slice(0, RECENT_EVENTS_PER_SECOND_MAX + 2)).toEqual([
      ...numbersTo(RECENT_EVENTS_PER_SECOND_MAX).map((n) => 100 - RECENT_EVENTS_PER_SECOND_MAX + n),
      2,
      1,
    ]);
  });

  test("of a list are the latest ones", () => {
    const one = destination("one");
    for (let n = 0; n < RECENT_EVENTS_MAX + 20; n++) {
      elapsed += 1_000;
      recent.add([output(n)], delivered, one, n);
    }
    expect(numbers().toSorted((a, b) => a - b)).toEqual(
      numbersTo(RECENT_EVENTS_MAX).map((n) => n + 20),
    );
  });

  test("have no event that is too long, and answers are bounded by bytes", () => {
    const one = destination("one");
    recent.add([output(0, { bytes: RECENT_EVENT_BYTES_MAX })], delivered, one, 1);
    const [long] = recent.list("workspace", {}, 1);
    expect(long).toMatchObject({ outcome: "delivered", messageId: "m0" });
    expect([long?.event, long?.received]).toEqual([undefined, undefined]);
    expect(recent.bytes).toBeLessThan(RECENT_EVENT_BYTES_MAX);
    const bytes = RECENT_EVENT_BYTES_MAX / 2;
    for (let n = 1; n < 100; n++) recent.add([output(n, { bytes })], delivered, one, n + 1);
    expect(numbers().length).toBe(Math.floor(RECENT_ANSWER_BYTES_MAX / (bytes + 30)));
  });
});

describe("the memory of recent events", () => {
  /** Fills the lists of destinations of a workspace with events of this size. */
  function fill(workspaceId: string, destinations: number, bytes: number): void {
    for (let index = 0; index < destinations; index++) {
      const to = destination(`${workspaceId}-${index}`, workspaceId);
      for (let n = 0; n < RECENT_EVENTS_MAX; n++) {
        recent.add([output(n, { bytes })], delivered, to, n);
      }
    }
  }

  test("is bounded for a workspace, and busy destinations displace no quiet one", () => {
    const quiet = destination("quiet");
    recent.add([output(7)], delivered, quiet, 7);
    const bytes = 16_000;
    fill("workspace", 3 * Math.ceil(RECENT_EVENTS_OF_WORKSPACE_BYTES_MAX / (bytes * 100)), bytes);
    expect(recent.bytes).toBeLessThanOrEqual(RECENT_EVENTS_OF_WORKSPACE_BYTES_MAX);
    expect(recent.bytes).toBeGreaterThan(RECENT_EVENTS_OF_WORKSPACE_BYTES_MAX / 2);
    expect(numbers("workspace", { destinationId: "quiet" })).toEqual([7]);
    for (const id of ["workspace-0", "workspace-9"]) {
      expect(numbers("workspace", { destinationId: id }).length).toBeGreaterThan(0);
    }
  });

  test("is bounded for all workspaces, and busy ones displace no quiet one", () => {
    recent.add([output(7)], delivered, destination("quiet", "quiet"), 7);
    const bytes = 60_000;
    const lists = Math.ceil(RECENT_EVENTS_OF_WORKSPACE_BYTES_MAX / (bytes * 100)) + 1;
    const workspaces = 2 + RECENT_EVENTS_BYTES_MAX / RECENT_EVENTS_OF_WORKSPACE_BYTES_MAX;
    for (let index = 0; index < workspaces; index++) fill(`w${index}`, lists, bytes);
    expect(recent.bytes).toBeLessThanOrEqual(RECENT_EVENTS_BYTES_MAX);
    expect(recent.bytes).toBeGreaterThan(RECENT_EVENTS_BYTES_MAX / 2);
    expect(numbers("quiet")).toEqual([7]);
    expect(numbers("w0").length).toBeGreaterThan(0);
  });

  test("holds many lists of a few events each, and forgets empty ones", () => {
    const bytes = 60_000;
    for (let index = 0; index < 1_000; index++) {
      recent.add([output(index, { bytes })], delivered, destination(`d${index}`), index);
    }
    expect(recent.bytes).toBeLessThanOrEqual(RECENT_EVENTS_OF_WORKSPACE_BYTES_MAX);
    expect(numbers().length).toBeGreaterThan(0);
  });
});
