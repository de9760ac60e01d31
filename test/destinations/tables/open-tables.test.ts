import { expect, test } from "bun:test";
import { openTables, type TableConnection } from "../../../src/destinations/tables/open-tables.ts";
import {
  columnsOf,
  DatabaseFailure,
  type ExistingTable,
  isOwn,
  merged,
} from "../../../src/destinations/tables/table-database.ts";
import { outgoing } from "../outgoing.ts";

const { signal } = new AbortController();
const rules = { charsMax: 63, escapesWords: true };

/** A connection to a database without tables that keeps what is asked, and can be held. */
function setup(config: object = {}) {
  const log: string[] = [];
  const tables = new Map<string, ExistingTable>();
  const held = { until: Promise.resolve() as Promise<unknown>, error: undefined as unknown };
  const database: TableConnection = {
    async within(given, work) {
      log.push(`begin ${given === signal}`);
      await held.until;
      if (held.error !== undefined) throw held.error;
      const result = await work();
      log.push("end");
      return result;
    },
    close: () => void log.push("close"),
    describe: async (table) => tables.get(table),
    countTables: async () => tables.size,
    async createTable(table) {
      log.push(`create ${table}`);
      tables.set(table, { columns: new Map(), isMarked: true, hasOwnKey: true });
      await database.addColumns(table, new Map([["id", "string"]]), false);
    },
    async addColumns(table, columns) {
      for (const [name, type] of columns) {
        tables.get(table)!.columns.set(name, { type, sqlType: "" });
      }
    },
    async insert(loads) {
      for (const { table, records } of loads) log.push(`insert ${records.length} into ${table}`);
    },
  };
  const open = openTables(config, rules, database);
  return { open, log, held };
}
const page = (messageId = "m") => outgoing({ type: "page", messageId });

test("deliveries run one after the other, and a destination closes after the last", async () => {
  const { open, log, held } = setup();
  const { promise, resolve } = Promise.withResolvers<void>();
  held.until = promise;
  const both = [open.deliver([page("a")], signal), open.deliver([page("b")], signal)];
  const closed = open.close();
  for (let turn = 0; turn < 20; turn++) await undefined;
  expect(log).toEqual(["begin true"]);
  resolve();
  expect(await Promise.all(both)).toEqual([{ kind: "delivered" }, { kind: "delivered" }]);
  await closed;
  expect(log.filter((line) => !line.startsWith("create"))).toEqual([
    ...["begin true", "insert 1 into pages", "end"],
    ...["begin true", "insert 1 into pages", "end", "close"],
  ]);
});

test("a delivery that fails is tried again, and does not stop the next", async () => {
  const { open, held } = setup();
  held.error = new Error("No connection");
  expect(await open.deliver([page()], signal)).toEqual({
    ...{ kind: "retry", reason: "No connection" },
  });
  held.error = undefined;
  expect(await open.deliver([page()], signal)).toEqual({ kind: "delivered" });
});

test.each([
  [{}, ["tracks"]],
  [{ mode: "columns", rawTable: "mine" }, ["tracks"]],
  [{ eventTables: true }, ["ended", "tracks"]],
  [{ mode: "raw" }, ["events"]],
  [{ mode: "raw", rawTable: "mine", eventTables: true }, ["mine"]],
])("a config with %j writes a track event to %j", async (config, tables) => {
  const { open, log } = setup(config);
  const event = outgoing({ type: "track", event: "Ended", messageId: "m" });
  expect(await open.deliver([event], signal)).toEqual({ kind: "delivered" });
  const inserted = log.flatMap((line) => /^insert 1 into (\w+)$/.exec(line)?.[1] ?? []);
  expect(inserted.sort()).toEqual(tables);
});

const column = { type: "string", sqlType: "text" } as const;
const existing = (names: string[], more: object = {}): ExistingTable => ({
  ...{ columns: new Map(names.map((name) => [name, column])), isMarked: false, hasOwnKey: false },
  ...more,
});
const ofRudderStack = ["received_at", "event", "event_text"];

test("a table is one's own by its mark, or by its key and the columns of event tables", () => {
  expect(isOwn(existing([], { isMarked: true }))).toBe(true);
  expect(isOwn(existing(ofRudderStack, { hasOwnKey: true }))).toBe(true);
  expect(isOwn(existing(ofRudderStack))).toBe(false);
  for (const name of ofRudderStack) {
    const others = ofRudderStack.filter((it) => it !== name);
    expect([name, isOwn(existing(others, { hasOwnKey: true }))]).toEqual([name, false]);
  }
});

test("a relation that takes no rows, or that another program made, fails with its name", () => {
  const failure = (...given: Parameters<typeof columnsOf>) => {
    try {
      return columnsOf(...given);
    } catch (error) {
      const { kind, message, isStale, scope } = error as DatabaseFailure;
      return { kind, message, isStale, scope };
    }
  };
  const known = existing(["id"]);
  expect(failure("t", false, undefined)).toBeUndefined();
  expect(failure("t", true, undefined)).toBeUndefined();
  expect(failure("t", false, known)).toBe(known.columns);
  const marked = existing(["id"], { isMarked: true });
  expect(failure("t", true, marked)).toBe(marked.columns);
  const changed = "Another program changes the table t";
  expect(failure("t", true, known)).toEqual({
    ...{ kind: "later", message: changed, isStale: true, scope: "event" },
  });
  expect(failure("t", false, existing([]))).toEqual({
    ...{ kind: "later", message: "Expected a table or view of the name t" },
    ...{ isStale: false, scope: "event" },
  });
});

test("a failure of a database is that of the destination, unless it says more", () => {
  const plain = new DatabaseFailure("later", "x");
  expect([plain.isStale, plain.isFixed, plain.scope, plain.code, plain.answer]).toEqual([
    ...[false, false, "destination", undefined, undefined],
  ]);
  const facts = { isStale: true, isFixed: true, scope: "event", code: "1", answer: {} } as const;
  expect(new DatabaseFailure("refused", "x", facts)).toMatchObject({ kind: "refused", ...facts });
});

test("records of users are merged by id, whatever the times of some are", () => {
  const load = (...records: Record<string, string | number>[]) => ({
    ...{ table: "users", columns: new Map(), records },
  });
  const at = (second: number, more: object) => ({
    ...{ id: "b", received_at: `2026-01-01T00:00:0${second}.000Z`, ...more },
  });
  const { records, isMerged } = merged(
    load(at(2, { x: 1, y: 1 }), { id: "b", x: 2 }, at(1, { y: 3, z: 3 }), at(2, { y: 4 }), {
      id: "a",
    }),
  );
  expect(records).toEqual([{ id: "a" }, at(2, { x: 2, y: 4, z: 3 })]);
  expect(isMerged).toBe(true);
  expect(merged(load({ id: 7 }, { id: 10 })).records).toEqual([{ id: 10 }, { id: 7 }]);
});
