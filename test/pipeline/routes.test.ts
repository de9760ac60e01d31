import { describe, expect, test } from "bun:test";
import type { Connection, Destination } from "../../src/catalog/model.ts";
import { LaneRoutes } from "../../src/pipeline/lane/lane-routes.ts";
import type { LaneEvent } from "../../src/pipeline/model/lane-event.ts";
import {
  covers,
  createRoutes,
  decideReplay,
  decideRoute,
  firstCovered,
  firstToRead,
} from "../../src/pipeline/model/routes.ts";
import type { LaneReplays } from "../../src/pipeline/replays/lane-replays.ts";

const destination: Destination = {
  ...{ id: "d", workspaceId: "w", name: "D", type: "webhook", enabled: true, config: {} },
  ...{ createdAt: 0, updatedAt: 0 },
};
const connection: Connection = {
  ...{ id: "c", workspaceId: "w", sourceId: "s", destinationId: "d", enabled: true },
  ...{ from: { "0": 10 }, createdAt: 0, updatedAt: 0 },
};

describe("connection windows", () => {
  const paused = { ...connection, until: { "0": 20 } };
  const resumed = {
    ...connection,
    from: { "0": 30 },
    earlier: [{ from: { "0": 10 }, until: { "0": 20 } }],
  };
  test.each([
    { what: "before its start", of: connection, log: "0", sequence: 9, covered: false },
    { what: "at its start", of: connection, log: "0", sequence: 10, covered: true },
    { what: "long after its start", of: connection, log: "0", sequence: 1e12, covered: true },
    { what: "of a log that was added later", of: connection, log: "1", sequence: 0, covered: true },
    { what: "before a pause", of: paused, log: "0", sequence: 19, covered: true },
    { what: "in a pause", of: paused, log: "0", sequence: 20, covered: false },
    {
      what: "of a log that was added in a pause",
      of: paused,
      log: "1",
      sequence: 0,
      covered: false,
    },
    { what: "before a pause that is over", of: resumed, log: "0", sequence: 19, covered: true },
    { what: "in a pause that is over", of: resumed, log: "0", sequence: 29, covered: false },
    { what: "after a pause", of: resumed, log: "0", sequence: 30, covered: true },
  ])("a connection covers a record $what: $covered", ({ of, log, sequence, covered }) => {
    expect(covers(of, log, sequence)).toBe(covered);
  });

  test("the first covered record of a connection is its start", () => {
    expect(firstCovered(connection, "0")).toBe(10);
    const empty = { ...connection, from: { "0": 0 } };
    expect(firstCovered(empty, "0", {})).toBe(Number.POSITIVE_INFINITY);
    expect(firstCovered(empty, "0")).toBe(0);
    expect(firstCovered(connection, "0", { "1": 5 })).toBe(10);
    expect(firstCovered(connection, "0", { "0": 10 })).toBe(Number.POSITIVE_INFINITY);
    expect(firstCovered(resumed, "0")).toBe(10);
    expect(firstCovered(connection, "1")).toBe(0);
  });

  test("the first covered record of a resumed connection is the end of its pause", () => {
    expect(firstCovered(resumed, "0", connection.from)).toBe(30);
    expect(firstCovered(resumed, "0", resumed.from)).toBe(Number.POSITIVE_INFINITY);
    expect(firstCovered(resumed, "0", {})).toBe(10);
  });
});

describe("route decisions", () => {
  const taken = { log: "0", sequence: 15, connectionId: "c" };
  const off = { ...destination, enabled: false };
  const refused = (what: string) => ({ kind: "refused" as const, reason: `${what} is disabled` });
  const paused = { ...connection, enabled: false, until: { "0": 20 } };
  test.each([
    {
      what: "of a live connection",
      routes: createRoutes(destination, [connection]),
      expected: { kind: "send" },
    },
    {
      what: "without a connection",
      routes: createRoutes(destination, []),
      expected: { kind: "discard" },
    },
    {
      what: "of a connection that was deleted and made again",
      routes: createRoutes(destination, [{ ...connection, id: "other" }]),
      expected: { kind: "discard" },
    },
    {
      what: "after the end of its connection",
      routes: createRoutes(off, [{ ...connection, until: { "0": 15 } }]),
      expected: { kind: "discard" },
    },
    {
      what: "owed by a disabled connection",
      routes: createRoutes(destination, [paused]),
      expected: refused("Connection"),
    },
    {
      what: "owed to a disabled destination",
      routes: createRoutes(off, [{ ...connection, until: { "0": 20 } }]),
      expected: refused("Destination"),
    },
  ])("an event $what is routed as $expected.kind", ({ routes, expected }) => {
    expect(decideRoute(routes, "s", taken)).toEqual(expected as never);
  });

  test("a replay needs no connection, but an enabled destination", () => {
    expect(decideReplay(createRoutes(destination, []))).toEqual({ kind: "send" });
    expect(decideReplay(createRoutes(off, [connection]))).toEqual(refused("Destination"));
  });
});

describe("the routes of a lane", () => {
  const event = { origin: { log: "0", sequence: 15, connectionId: "c" }, input: { sourceId: "s" } };
  const replayed = { origin: { replayId: "r" }, input: { sourceId: "s" } };
  const replays = { isRunning: (id: string): boolean => id === "r" };
  const decide = (routes: LaneRoutes, of: object = event, running = replays) =>
    routes.decide(of as LaneEvent, running as Pick<LaneReplays, "isRunning">).kind;

  test("discard every event once the lane is removed", () => {
    const routes = new LaneRoutes(destination, [connection]);
    expect([decide(routes), decide(routes, replayed)]).toEqual(["send", "send"]);
    routes.remove();
    expect([decide(routes), decide(routes, replayed)]).toEqual(["discard", "discard"]);
  });

  test("discard events of a replay that has ended, or whose destination is disabled", () => {
    const routes = new LaneRoutes(destination, []);
    expect(decide(routes, replayed, { isRunning: () => false })).toBe("discard");
    const disabled = new LaneRoutes({ ...destination, enabled: false }, [connection]);
    expect(decide(disabled, replayed)).toBe("discard");
    expect(decide(disabled)).toBe("refused");
  });

  test("change as an object with each change, and name the connections that are gone", () => {
    const routes = new LaneRoutes(destination, [connection]);
    const sent = { ...event } as { checkedRoutes?: unknown };
    decide(routes, sent);
    expect(sent.checkedRoutes).toBe(routes.current);
    expect(routes.update({ ...destination }, [{ ...connection }])).toBeUndefined();
    expect(sent.checkedRoutes).toBe(routes.current);
    routes.invalidate();
    expect(sent.checkedRoutes).not.toBe(routes.current);
    expect(routes.update(destination, [{ ...connection, id: "e" }])).toEqual(["c"]);
    expect(decide(routes)).toBe("discard");
    const off = { ...destination, enabled: false };
    expect(routes.update(off, [{ ...connection, id: "e" }])).toEqual([]);
    expect([routes.destination, routes.connections[0]!.id]).toEqual([off, "e"]);
  });
});

test("a lane reads a log from the first record of any connection, or without one from its end", () => {
  const first = (...froms: number[]) =>
    firstToRead(
      "0",
      froms.map((from) => ({ ...connection, from: { "0": from } })),
      { end: () => 99 },
    );
  expect([first(), first(7), first(7, 5, 8), first(200)]).toEqual([99, 7, 5, 200]);
});
