import { expect, spyOn, test } from "bun:test";
import { ClickhouseDatabase } from "../../../src/destinations/clickhouse/database.ts";
import { insertRows } from "../../../src/destinations/clickhouse/sql.ts";
import type { DatabaseFailure } from "../../../src/destinations/tables/table-database.ts";
import { createEgress, type EgressRequest } from "../../../src/egress/egress.ts";
import { RawSink } from "../../egress/sink.ts";

const { signal } = new AbortController();
const answer = (body: string, status = 200) => ({ status, headers: {}, body: Buffer.from(body) });
const lines = (...rows: unknown[][]) => answer(rows.map((row) => JSON.stringify(row)).join("\n"));
const failed = (code: number) => answer(`Code: ${code}. DB::Exception: No.`, 500);
const engine = ["MergeTree", "received_at, id", "pixelmill: events"];

/** A database whose statements get these answers in turn, and then succeed without rows. */
function setup(answers: (ReturnType<typeof answer> | Error)[] = [], config: object = {}) {
  const requests: EgressRequest[] = [];
  const egress = {
    async request(request: EgressRequest) {
      requests.push(request);
      const next = answers.shift() ?? answer("");
      if (next instanceof Error) throw next;
      return next;
    },
  };
  const given = { url: "https://ch.test/", ...config };
  const database = new ClickhouseDatabase(given as never, "w", egress as never);
  const within = <T>(work: () => Promise<T>) => database.within(signal, work);
  const statements = () => requests.splice(0).map(({ body }) => Buffer.from(body).toString());
  return { database, within, requests, statements };
}

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: DatabaseFailure) => error,
  );

test("a table is described by its engine, its comment and its columns", async () => {
  const columns = lines(
    ["id", "String", "", "", "", "", "", 0],
    ["n", "Nullable(Int64)", "", "", "", "", "", 0],
    ["made", "String", "MATERIALIZED", "", "", "", "", 0],
    ["_part", "String", "", "", "", "", "", 1],
  );
  const { database, within, statements } = setup([lines(engine), columns], { database: "d" });
  expect(await within(() => database.describe("t"))).toEqual({
    columns: new Map<string, object>([
      ["id", { type: "string", sqlType: "String" }],
      ["n", expect.objectContaining({ type: "int", sqlType: "Nullable(Int64)" })],
      ["made", { type: "other", sqlType: "String" }],
      ["_part", { type: "other", sqlType: "String" }],
    ]) as never,
    isMarked: true,
    hasOwnKey: true,
  });
  const [table, described] = statements();
  expect(table).toContain("where database = 'd' and name = 't'");
  expect(described).toStartWith("describe table `d`.`t` ");
});

test("a table that is missing has no description, and one of another program has no mark", async () => {
  const { database, within, statements } = setup([
    answer(""),
    lines(["MergeTree", "id", "mine"]),
    lines(["id", "String", ""]),
  ]);
  expect(await within(() => database.describe("t"))).toBeUndefined();
  expect(statements()).toHaveLength(1);
  const found = await within(() => database.describe("t"));
  expect([found!.isMarked, found!.hasOwnKey]).toEqual([false, false]);
});

test("a server that knows no virtual columns is asked for the others alone", async () => {
  const columns = lines(["id", "String", ""]);
  const { database, within, statements } = setup([lines(engine), failed(115), columns]);
  const found = await within(() => database.describe("t"));
  expect([...found!.columns.keys()]).toEqual(["id"]);
  const asked = statements().slice(1);
  expect(asked.map((text) => text.includes("describe_include_virtual_columns"))).toEqual([
    ...[true, false],
  ]);
  const other = setup([lines(engine), failed(60)]);
  const failure = await failureOf(other.within(() => other.database.describe("t")));
  expect(failure?.code).toBe("60");
});

test("a database that is missing is created before its first table, and after no other failure", async () => {
  const columns = new Map([["id", "string"]] as const);
  const missing = setup([failed(81)], { database: "d" });
  await missing.within(() => missing.database.createTable("t", "id", columns, false));
  const [first, made, second] = missing.statements();
  expect(first).toStartWith("create table if not exists `d`.`t` ");
  expect([made, second]).toEqual(["create database if not exists `d`", first!]);
  const refused = setup([failed(497)]);
  const create = () => refused.database.createTable("t", "id", columns, false);
  expect((await failureOf(refused.within(create)))?.code).toBe("497");
  expect(refused.statements()).toHaveLength(1);
});

test("tables are counted, widened, tested and dropped in the database of the config", async () => {
  const { database, within, statements } = setup([answer("7\n")]);
  const columns = new Map([["n", "int"]] as const);
  await within(async () => {
    expect(await database.countTables()).toBe(7);
    await database.addColumns("t", columns, false);
    await database.testWrite("probe");
    await database.drop("probe");
  });
  expect(statements()).toEqual([
    "select count() from system.tables where database = 'default'",
    "alter table `default`.`t` add column if not exists `n` Nullable(Int64)",
    expect.stringMatching(/^create table if not exists `default`.`probe` \(`id` String, /),
    'insert into `default`.`probe` (id) format JSONEachRow\n{"id":"test"}',
    "drop table `default`.`probe`",
  ]);
});

test("each table of a delivery gets one insert, and the first failure ends them", async () => {
  const load = (table: string) => ({
    ...{ table, records: [{ id: "1" }] },
    columns: new Map([["id", { type: "string", sqlType: "String" } as const]]),
  });
  const { database, within, statements } = setup([answer("9"), answer(""), failed(241)]);
  const insert = () => database.insert([load("a"), load("b"), load("c")]);
  expect((await failureOf(within(insert)))?.message).toContain("too little memory");
  expect(statements().map((text) => text.split(" (")[0])).toEqual([
    ...["select uptime()", "insert into `default`.`a`", "insert into `default`.`b`"],
  ]);
});

test("the tokens of a batch change once when the server has restarted since its events arrived", async () => {
  const receivedAt = (secondsAgo: number) =>
    new Date(Date.now() - 1_000 * secondsAgo).toISOString();
  const loads = (...records: object[]) => [{ table: "t", columns: new Map(), records }] as never;
  const tokens = async (uptime: number, ...records: object[]) => {
    const state = answer(String(uptime));
    const { database, within, statements } = setup([state, failed(241), state]);
    const insert = () => within(() => database.insert(loads(...records)));
    await failureOf(insert());
    await insert();
    await insert();
    const sent = statements().filter((text) => text.startsWith("insert"));
    return sent.map((text) => /token = '(\w+)'/.exec(text)![1]!);
  };
  const [old, recent] = [{ received_at: receivedAt(600) }, { received_at: receivedAt(60) }];
  for (const [uptime, records, isNew] of [
    [100, [old, recent], false],
    [10, [old, recent], true],
    [10, [{}], true],
    [10, [{ received_at: "soon" }, recent], true],
    [100, [{ received_at: "soon" }, recent], false],
  ] as const) {
    const plain = Buffer.from(insertRows("t", loads(...records)[0]!, "")).toString();
    const found = await tokens(uptime, ...records);
    expect(new Set(found).size).toBe(1);
    expect(plain.includes(found[0]!)).toBe(!isNew);
  }
});

/** Calls `work` while the clock of `performance.now` stands still, except where `work` moves it. */
async function withClock(work: (pass: (ms: number) => void) => Promise<void>) {
  let now = 1_000;
  const clock = spyOn(performance, "now").mockImplementation(() => now);
  try {
    await work((ms) => {
      now += ms;
    });
  } finally {
    clock.mockRestore();
  }
}

test("a statement has the rest of its delivery's time, and is not sent once the time is over", async () => {
  await withClock(async (pass) => {
    const { database, within, requests } = setup([], { timeoutMs: 500 });
    const delivery = within(async () => {
      await database.countTables();
      pass(100.5);
      await database.countTables();
      pass(399.5);
      await database.insert([{ table: "t", columns: new Map(), records: [] }]);
    });
    const failure = await failureOf(delivery);
    expect([failure?.name, failure?.kind, failure?.message]).toEqual([
      ...["DatabaseFailure", "later", "No complete answer within 500 ms"],
    ]);
    expect(requests.map(({ timeoutMs }) => timeoutMs)).toEqual([500, 400]);
    expect(requests.every((request) => request.signal === signal)).toBe(true);
    await within(() => database.countTables());
    expect(requests.at(-1)?.timeoutMs).toBe(500);
  });
});

test("a statement that is cut off in the middle of its delivery names the whole timeout", async () => {
  const body = "7\n";
  let answers = 1;
  const sink = new RawSink((socket) => {
    if (answers-- > 0) socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n${body}`);
  });
  const config = { url: `http://127.0.0.1:${await sink.listen()}/`, timeoutMs: 60_000 };
  const egress = createEgress({ allow: ["127.0.0.0/8"] });
  const database = new ClickhouseDatabase(config, "w", egress);
  await withClock(async (pass) => {
    const delivery = database.within(signal, async () => {
      expect(await database.countTables()).toBe(7);
      pass(59_900);
      await database.countTables();
    });
    expect((await failureOf(delivery))?.message).toBe("No complete answer within 60000 ms");
  });
  egress.close();
  sink.close();
});

test("a delivery that is stopped sends no statement", async () => {
  const { database, requests } = setup();
  const stopped = AbortSignal.abort(new Error("Stopped"));
  const counted = database.within(stopped, () => database.countTables());
  expect((await failureOf(counted))?.message).toBe("Stopped");
  expect(requests).toEqual([]);
});

test.each([
  ["no JSON", "{"],
  ["no array", '{"engine":"Log"}\n["a","b","c"]'],
  ["a row that is too short", '["Log","id"]'],
])("a server that describes a table by %s is no ClickHouse", async (_, body) => {
  const { database, within } = setup([answer(body)]);
  const failure = await failureOf(within(() => database.describe("t")));
  expect([failure?.kind, failure?.message]).toEqual([
    ...["later", "The server does not answer as ClickHouse does"],
  ]);
});

test("a failure of the network ends a statement, to be tried again", async () => {
  const { database, within } = setup([new Error("The response ended early")]);
  const failure = await failureOf(within(() => database.countTables()));
  expect([failure?.kind, failure?.message]).toEqual(["later", "The response ended early"]);
});
