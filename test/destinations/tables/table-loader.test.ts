import { expect, setDefaultTimeout, spyOn, test } from "bun:test";
import { TABLES_OF_DESTINATION_MAX } from "../../../src/destinations/tables/limits.ts";
import {
  DatabaseFailure,
  type ExistingTable,
  type TableDatabase,
} from "../../../src/destinations/tables/table-database.ts";
import { TableLoader } from "../../../src/destinations/tables/table-loader.ts";
import { restColumn, WarehouseNames } from "../../../src/destinations/tables/warehouse-names.ts";
import { outgoing } from "../outgoing.ts";

setDefaultTimeout(300_000);

const names = new WarehouseNames({ charsMax: 63, escapesWords: true });

/** A database in memory: the number of rows of each table. */
function memoryDatabase(others: number) {
  const tables = new Map<string, ExistingTable>();
  const rows = new Map<string, number>();
  const database: TableDatabase = {
    describe: async (table) => tables.get(table),
    countTables: async () => others + tables.size,
    async createTable(table, _, columns) {
      tables.set(table, { columns: new Map(), isMarked: true, hasOwnKey: true });
      await database.addColumns(table, columns, false);
    },
    async addColumns(table, columns) {
      for (const [name, type] of columns)
        tables.get(table)!.columns.set(name, { type, sqlType: "" });
    },
    async insert(loads) {
      for (const { table, records } of loads) {
        rows.set(table, (rows.get(table) ?? 0) + records.length);
      }
    },
  };
  const drop = (count: number) => {
    others -= count;
  };
  return { database, rows, drop };
}

const eventTables = (database: TableDatabase) =>
  new TableLoader({ mode: "columns", eventTables: true, rawTable: "events" }, names, database);

test("however many names of events come first, each type of event gets its table", async () => {
  const { database, rows } = memoryDatabase(1);
  const events = Array.from({ length: TABLES_OF_DESTINATION_MAX + 5 }, (_, n) =>
    outgoing({ type: "track", event: `n${n.toString(26)}`, messageId: `m${n}` }),
  );
  const loader = eventTables(database);
  expect(await loader.load(events)).toEqual({ kind: "delivered" });
  const user = outgoing({ type: "identify", userId: "u", messageId: "i" });
  expect(await loader.load([user])).toEqual({ kind: "delivered" });
  expect(rows.size).toBe(TABLES_OF_DESTINATION_MAX - 1 + 3);
  const of = (table: string) => rows.get(table);
  expect([of("tracks"), of("identifies"), of("users")]).toEqual([events.length, 1, 1]);
});

test("a batch with more names than one attempt has time to read is delivered by several", async () => {
  const { database, rows } = memoryDatabase(0);
  const { describe } = database;
  let left = 0;
  database.describe = async (table) => {
    if (left-- <= 0) throw new DatabaseFailure("later", "The database did not answer in time");
    return await describe(table);
  };
  const names = Array.from({ length: 25 }, (_, n) => `n${String.fromCharCode(97 + n)}`);
  const events = names.map((event) => outgoing({ type: "track", event, messageId: event }));
  const loader = eventTables(database);
  const results: string[] = [];
  for (let attempt = 0; attempt < 8 && results.at(-1) !== "delivered"; attempt++) {
    left = 10;
    results.push((await loader.load(events)).kind);
  }
  expect(results.at(-1)).toBe("delivered");
  expect([...rows.keys()].sort()).toEqual([...names, "tracks"].sort());
});

test("after tables of a full schema were dropped, events get tables of their names within a minute", async () => {
  let now = 0;
  const clock = spyOn(performance, "now").mockImplementation(() => now);
  try {
    const { database, rows, drop } = memoryDatabase(TABLES_OF_DESTINATION_MAX);
    const loader = eventTables(database);
    const deliver = (messageId: string) =>
      loader.load([outgoing({ type: "track", event: "Ended", messageId })]);
    expect(await deliver("m0")).toEqual({ kind: "delivered" });
    drop(10);
    now += 61_000;
    expect(await deliver("m1")).toEqual({ kind: "delivered" });
    expect(Object.fromEntries(rows)).toEqual({ tracks: 2, ended: 1 });
  } finally {
    clock.mockRestore();
  }
});

test("an event with a value that fits no column is refused, and the others are written", async () => {
  const column = (type: "string" | "int" | "datetime", charsMax?: number) => {
    return { type, sqlType: type, ...(charsMax !== undefined && { charsMax }) };
  };
  const columns = new Map(
    Object.entries({
      ...{ id: column("string"), received_at: column("datetime"), size: column("int") },
      ...{ [names.textColumn("size")]: column("string", 5), [restColumn]: column("string", 20) },
    }),
  );
  const { database, rows } = memoryDatabase(1);
  const described = { columns, isMarked: true, hasOwnKey: true };
  const full = { ...database, describe: async () => described };
  const sizes = [1, "a size of too many characters", "small"];
  const events = sizes.map((size, n) => {
    return outgoing({ type: "page", messageId: `m${n}`, properties: { size } });
  });
  const { refused, ...result } = (await eventTables(full).load(events)) as {
    refused?: Map<number, string>;
  };
  expect(result).toEqual({ kind: "delivered" } as never);
  const reason = "The table pages has no column that takes the value of size, nor rest__json";
  expect([...refused!]).toEqual([[1, reason]]);
  expect(Object.fromEntries(rows)).toEqual({ pages: 2 });
});

const ended = (messageId = "m") => outgoing({ type: "track", event: "Ended", messageId });
const answer = { code: "1", body: "no" };
test.each([
  [
    { kind: "later", scope: "event", answer },
    { kind: "retry", scope: "event", answer },
  ],
  [{ kind: "later", scope: "destination" }, { kind: "retry" }],
  [{ kind: "later" }, { kind: "retry" }],
  [
    { kind: "refused", scope: "event", answer },
    { kind: "rejected", answer },
  ],
] as const)("a failure of the database %j ends a delivery with %j", async (failed, result) => {
  const { database } = memoryDatabase(0);
  const { kind, ...facts } = failed;
  database.insert = async () => {
    throw new DatabaseFailure(kind, "It failed", facts);
  };
  const verdict = await eventTables(database).load([ended()]);
  expect(verdict).toEqual({ ...result, reason: "It failed" } as never);
});

test("an error that is no failure of the database is thrown on", async () => {
  const { database } = memoryDatabase(0);
  database.insert = async () => {
    throw new Error("A fault of the program");
  };
  await expect(eventTables(database).load([ended()])).rejects.toThrow("A fault of the program");
});

test("a batch is written at the third attempt, but not at a fourth, while others change its tables", async () => {
  for (const [failures, kind] of [
    [2, "delivered"],
    [3, "retry"],
  ] as const) {
    const { database } = memoryDatabase(0);
    const loader = eventTables(database);
    await loader.load([ended("first")]);
    const { describe, insert } = database;
    const asked: string[] = [];
    let left: number = failures;
    database.describe = (table) => {
      asked.push(table);
      return describe(table);
    };
    database.insert = async (...given) => {
      if (left-- > 0) throw new DatabaseFailure("later", "Changed", { isStale: true });
      await insert(...given);
    };
    expect((await loader.load([ended()])).kind).toBe(kind);
    // The first attempt uses the columns that are known.
    expect(asked.filter((table) => table === "tracks")).toHaveLength(2);
  }
});

/** A loader whose tables exist and can get no column. */
function fixedTables(...columns: string[]) {
  const { database, rows } = memoryDatabase(0);
  const known = [...columns, "id", "received_at"].map(
    (name) => [name, { type: "string", sqlType: "text" }] as const,
  );
  const asked: string[] = [];
  database.describe = async () => {
    return { columns: new Map(known), isMarked: true, hasOwnKey: true };
  };
  database.addColumns = async (table) => {
    asked.push(table);
    throw new DatabaseFailure("later", "No further column", { isFixed: true, scope: "event" });
  };
  return { database, rows, asked, loader: eventTables(database) };
}

test("values without a column go to the rest of a table that can get none, which is asked again after a minute", async () => {
  let now = 0;
  const clock = spyOn(performance, "now").mockImplementation(() => now);
  try {
    const { rows, asked, loader } = fixedTables(restColumn);
    const page = (n: number) => outgoing({ type: "page", messageId: `m${n}`, properties: { n } });
    for (const [time, count] of [
      [0, 1],
      [60_000, 1],
      [60_001, 2],
    ] as const) {
      now = time;
      expect(await loader.load([page(time)])).toEqual({ kind: "delivered" });
      expect(asked).toHaveLength(count);
    }
    expect(Object.fromEntries(rows)).toEqual({ pages: 3 });
  } finally {
    clock.mockRestore();
  }
});

test("an event for a table that can get no column, and has no rest, is tried again later", async () => {
  const { loader } = fixedTables();
  const page = outgoing({ type: "page", messageId: "m", properties: { n: 1 } });
  expect(await loader.load([page])).toEqual({
    ...{ kind: "retry", reason: "No further column", scope: "event" },
  });
});

test("an event is not written to the table that another program gave its name", async () => {
  const { database, rows } = memoryDatabase(0);
  await database.createTable("ended", "id", new Map([["id", "string"]]), false);
  const { describe } = database;
  database.describe = async (table) => {
    const found = await describe(table);
    return found && { ...found, isMarked: table !== "ended" };
  };
  expect(await eventTables(database).load([ended()])).toEqual({ kind: "delivered" });
  expect(Object.fromEntries(rows)).toEqual({ tracks: 1 });
});

test("once others have changed tables, one that was left alone is described again", async () => {
  const { database, rows } = memoryDatabase(0);
  await database.createTable("ended", "id", new Map([["id", "string"]]), false);
  const { describe, insert } = database;
  let isMarked = false;
  database.describe = async (table) => {
    const found = await describe(table);
    return found && { ...found, isMarked: isMarked || table !== "ended" };
  };
  const loader = eventTables(database);
  await loader.load([ended("first")]);
  isMarked = true;
  await loader.load([ended("second")]);
  expect(Object.fromEntries(rows)).toEqual({ tracks: 2 });
  database.insert = async () => {
    database.insert = insert;
    throw new DatabaseFailure("later", "Changed", { isStale: true });
  };
  expect(await loader.load([ended("third")])).toEqual({ kind: "delivered" });
  expect(Object.fromEntries(rows)).toEqual({ tracks: 3, ended: 1 });
});

test("the columns of tables that were not used for longest are read again, if they are many", async () => {
  const names = ["id", "received_at", "event", "event_text"];
  const fill = Array.from({ length: 30_000 }, (_, n) => `c${n}`);
  const text = { type: "string", sqlType: "text" } as const;
  const columns = new Map([...names, ...fill].map((name) => [name, text]));
  const { database } = memoryDatabase(0);
  const described: string[] = [];
  database.insert = async () => {};
  database.describe = async (table) => {
    described.push(table);
    return { columns, isMarked: true, hasOwnKey: true };
  };
  const loader = eventTables(database);
  for (const event of ["alpha", "alpha", "beta", "gamma", "beta", "alpha"]) {
    const track = outgoing({ type: "track", event, messageId: event });
    expect(await loader.load([track])).toEqual({ kind: "delivered" });
  }
  expect(described).toEqual(["alpha", "tracks", "beta", "gamma", "alpha"]);
});

test("an insert has the columns of which a record has a value, in the order of the table", async () => {
  const { database } = memoryDatabase(0);
  const inserted: string[] = [];
  database.insert = async ([load]) => {
    inserted.push([...load!.columns.keys()].join(" "));
  };
  const loader = eventTables(database);
  for (const properties of [{ b: 1, a: 2 }, { a: 3 }]) {
    const event = { type: "page", messageId: `m${properties.a}`, properties };
    expect(await loader.load([outgoing(event)])).toEqual({ kind: "delivered" });
  }
  expect(inserted).toEqual(["id received_at b a", "id received_at a"]);
});

test("only `users` of the mode with columns gets rows that later ones update", async () => {
  for (const [mode, key, merged] of [
    ["columns", "id", ["users"]],
    ["raw", "message_id", []],
  ] as const) {
    const { database } = memoryDatabase(0);
    const seen: [string, string, boolean][] = [];
    const { createTable, insert } = database;
    database.createTable = (table, key, columns, isMerged) => {
      seen.push([table, key, isMerged]);
      return createTable(table, key, columns, isMerged);
    };
    database.insert = async (loads, key) => {
      for (const { table, isMerged = false } of loads) seen.push([table, key, isMerged]);
      await insert(loads, key);
    };
    const loader = new TableLoader(
      { mode, eventTables: false, rawTable: "users" },
      names,
      database,
    );
    const user = outgoing({ type: "identify", userId: "u", messageId: "i" });
    expect(await loader.load([user])).toEqual({ kind: "delivered" });
    for (const [table, used, isMerged] of seen) {
      expect([mode, table, used, isMerged]).toEqual([
        ...[mode, table, key, (merged as readonly string[]).includes(table)],
      ]);
    }
    expect(new Set(seen.map(([table]) => table)).has("users")).toBe(true);
  }
});

test("a value fits the text column where another writer adds its column with another type", async () => {
  const { database, rows } = memoryDatabase(0);
  const { addColumns, insert } = database;
  database.addColumns = async (table, columns, isMerged) => {
    const raced = [...columns].map(
      ([name, type]) => [name, name === "size" ? "int" : type] as const,
    );
    await addColumns(table, new Map(raced), isMerged);
  };
  const written: object[] = [];
  database.insert = async (loads, key) => {
    for (const { records } of loads) written.push(...records);
    await insert(loads, key);
  };
  const page = outgoing({ type: "page", messageId: "m", properties: { size: "large" } });
  expect(await eventTables(database).load([page])).toEqual({ kind: "delivered" });
  expect(Object.fromEntries(rows)).toEqual({ pages: 1 });
  expect(written).toEqual([expect.objectContaining({ size__text: "large" })]);
  expect(written[0]).not.toHaveProperty("size");
});

test("a table that vanishes while a batch is written is created again", async () => {
  const { database, rows } = memoryDatabase(0);
  const { addColumns, describe } = database;
  let isGone = false;
  database.addColumns = async (...given) => {
    await addColumns(...given);
    // The columns of the new table are added first, those of the event second.
    isGone = given[1].has("size");
  };
  database.describe = async (table) => {
    const found = isGone ? undefined : await describe(table);
    isGone = false;
    return found;
  };
  const page = outgoing({ type: "page", messageId: "m", properties: { size: 1 } });
  expect(await eventTables(database).load([page])).toEqual({ kind: "delivered" });
  expect(Object.fromEntries(rows)).toEqual({ pages: 1 });
});

test("a name that belongs to no table is tried again later, and may be the event's fault", async () => {
  const { database } = memoryDatabase(0);
  database.describe = async () => ({ columns: new Map(), isMarked: false, hasOwnKey: false });
  const page = outgoing({ type: "page", messageId: "m" });
  expect(await eventTables(database).load([page])).toEqual({
    ...{ kind: "retry", scope: "event" },
    reason: "Expected a table or view of the name pages",
  });
});
