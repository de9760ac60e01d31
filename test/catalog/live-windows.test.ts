import { expect, test } from "bun:test";
import {
  CONNECTION_WINDOWS_MAX,
  newWindow,
  setLive,
} from "../../src/catalog/management/live-windows.ts";
import type { Connection } from "../../src/catalog/model.ts";

const fresh = (live: boolean, at: number): Connection => ({
  id: "c",
  workspaceId: "w",
  sourceId: "s",
  destinationId: "d",
  enabled: live,
  ...newWindow(live, { "1": at }),
  createdAt: 0,
  updatedAt: 0,
});

test("a live connection routes from where the log ended", () => {
  expect(fresh(true, 7)).toMatchObject({ from: { "1": 7 } });
  expect(fresh(true, 7).until).toBeUndefined();
});

test("a connection that is not live routes nothing", () => {
  expect(fresh(false, 7)).toMatchObject({ from: { "1": 7 }, until: { "1": 7 } });
});

test("a connection whose liveness does not change keeps its windows", () => {
  const live = fresh(true, 7);
  const paused = fresh(false, 7);
  expect(setLive(live, true, { "1": 9 })).toBe(live);
  expect(setLive(paused, false, { "1": 9 })).toBe(paused);
});

test("events before a pause stay owed after the next start", () => {
  const paused = setLive(fresh(true, 7), false, { "1": 9 });
  expect(paused).toMatchObject({ from: { "1": 7 }, until: { "1": 9 } });
  const again = setLive(paused, true, { "1": 20 });
  expect(again.from).toEqual({ "1": 20 });
  expect(again.until).toBeUndefined();
  expect(again.earlier).toEqual([{ from: { "1": 7 }, until: { "1": 9 } }]);
});

test("an empty window is not kept", () => {
  const started = setLive(fresh(false, 7), true, { "1": 9 });
  expect(started.earlier).toBeUndefined();
  expect(started.from).toEqual({ "1": 9 });
});

test("a log directory that appears while live counts from its start", () => {
  const paused = setLive(fresh(true, 7), false, { "1": 7, "2": 3 });
  expect(setLive(paused, true, { "1": 8, "2": 5 }).earlier).toHaveLength(1);
});

test("the oldest two of too many windows become one that has every owed event", () => {
  // Live from 10 to 14, paused from 15 to 19, live from 20 to 24, and so on.
  const pauses = 2 * CONNECTION_WINDOWS_MAX;
  let connection = fresh(true, 10);
  for (let at = 1; at <= pauses; at++) {
    connection = setLive(connection, false, { "1": at * 10 + 5 });
    connection = setLive(connection, true, { "1": at * 10 + 10 });
  }
  const earlier = connection.earlier ?? [];
  expect(earlier).toHaveLength(CONNECTION_WINDOWS_MAX);
  expect(earlier.at(-1)).toEqual({ from: { "1": pauses * 10 }, until: { "1": pauses * 10 + 5 } });
  for (let position = 10; position < pauses * 10 + 10; position++) {
    const owed = position % 10 < 5;
    const routed = earlier.some(
      ({ from, until }) => position >= from["1"]! && position < until["1"]!,
    );
    if (owed) expect(routed).toBe(true);
    if (!owed && position > (pauses - CONNECTION_WINDOWS_MAX + 2) * 10) expect(routed).toBe(false);
  }
});
