import { expect, test } from "bun:test";
import type { Connection } from "../../src/catalog/model.ts";
import { SourceLanes } from "../../src/pipeline/lane/source-lanes.ts";
import { MemoryLog, record } from "./doubles.ts";

const log = new MemoryLog();
const logs = { names: () => ["0"], end: () => log.end() };
const connection = (over: Partial<Connection>): Connection => ({
  ...{ id: "c", workspaceId: "w", sourceId: "source", destinationId: "one", enabled: true },
  ...{ from: {}, createdAt: 0, updatedAt: 0, ...over },
});

test("a source wakes the destinations of connections that deliver, until they change", () => {
  const lanes = new SourceLanes(logs);
  const both = [connection({}), connection({ sourceId: "other" })];
  lanes.set("one", both, []);
  lanes.set("two", [connection({ destinationId: "two" })], []);
  expect([...lanes.of("source")]).toEqual(["one", "two"]);
  expect([...lanes.of("other")]).toEqual(["one"]);
  const one = [connection({ sourceId: "other" })];
  lanes.set("one", one, both);
  expect([...lanes.of("source")]).toEqual(["two"]);
  lanes.set("one", [], one);
  expect([...lanes.of("other")]).toEqual([]);
});

test("a source wakes a destination whose connection has ended until its last record has come", () => {
  const lanes = new SourceLanes(logs);
  const end = log.end();
  const before = [connection({ until: { 0: end } })];
  expect(lanes.set("one", before, [])).toBe(false);
  expect([...lanes.of("source")]).toEqual([]);
  expect(lanes.set("one", [connection({ until: { 0: end + 2 } })], before)).toBe(false);
  log.append(record(1));
  expect(lanes.takeEnded()).toEqual([]);
  expect([...lanes.of("source")]).toEqual(["one"]);
  log.append(record(2));
  expect(lanes.takeEnded()).toEqual(["one"]);
  expect([...lanes.of("source")]).toEqual([]);
  expect(lanes.takeEnded()).toEqual([]);
});

test("a change that comes after the last record of an ended connection wakes its lane", () => {
  const lanes = new SourceLanes(logs);
  const ended = connection({ until: { 0: log.end() + 1 } });
  lanes.set("one", [ended], []);
  log.append(record(3));
  expect(lanes.set("one", [ended], [ended])).toBe(true);
});
