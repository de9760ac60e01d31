import {
  afterAll,
  afterEach,
  beforeAll,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import { mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clickhouseKind } from "../../../src/destinations/clickhouse/clickhouse.ts";
import { columnOf, quoted } from "../../../src/destinations/clickhouse/sql.ts";
import type { DestinationKind, OpenDestination } from "../../../src/destinations/destination.ts";
import { TABLE_EVENT_COLUMNS_MAX } from "../../../src/destinations/tables/limits.ts";
import { createEgress } from "../../../src/egress/egress.ts";
import { describeWith, firstMissing, testWith } from "../../counterpart.ts";
import { RawSink } from "../../egress/sink.ts";
import { fillDisk, makeSpace, mountDisk, mountMissing, unmountDisk } from "../../small-disk.ts";
import { until } from "../../until.ts";
import { describeDestination } from "../contract.ts";
import { outgoing } from "../outgoing.ts";
import { TcpProxy } from "../proxy.ts";
import { ClickhouseServer, clickhouseMissing } from "./clickhouse-server.ts";

setDefaultTimeout(300_000);

const describeReal = describeWith(clickhouseMissing);
let server: ClickhouseServer;
let databases = 0;
const ends: (() => unknown)[] = [];

beforeAll(async () => {
  if (clickhouseMissing === undefined) server = await ClickhouseServer.start();
});
afterAll(async () => await server?.end());
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const egress = createEgress({ allow: ["127.0.0.0/8"] });
const kind: DestinationKind = clickhouseKind(egress);
const { signal } = new AbortController();

/** A config with a database of its own. */
function configOf(over: Record<string, unknown> = {}): Record<string, unknown> {
  databases += 1;
  return { ...server.account, database: `d${databases}`, ...over };
}

function opened(config: Record<string, unknown>): OpenDestination {
  const open = kind.open(config, "workspace");
  ends.push(() => open.close());
  return open;
}

const track = (messageId: string, properties: object, over: object = {}) =>
  outgoing({
    type: "track",
    event: "Test Made",
    messageId,
    userId: "u",
    receivedAt: "2026-01-02T03:04:05.678Z",
    properties,
    ...over,
  });

const rowsOf = (database: unknown, table = "tracks") =>
  server.rows(`select * from ${database}.${table} final order by id`);
const idsOf = async (database: unknown, table = "tracks") =>
  (await rowsOf(database, table)).map(({ id }) => id);
const delivered = { kind: "delivered" } as const;
const reasonOf = (verdict: object) => (verdict as { reason: string }).reason;

if (clickhouseMissing === undefined) {
  describeDestination("clickhouse", async () => {
    const config = configOf({ mode: "raw", batchSize: 10 });
    const broken = (over: Record<string, unknown>) => ({ ...config, ...over });
    const { url: _, ...without } = config;
    // A database in which no table can be created.
    await server.ask("create database if not exists tableless engine = Dictionary");
    return {
      kind,
      config,
      faulty: [
        { config: without, path: "/url" },
        { config: broken({ url: "clickhouse:8123" }), path: "/url" },
        { config: broken({ url: "http://u:p@clickhouse:8123" }), path: "/url" },
        { config: broken({ database: "a b" }), path: "/database" },
        { config: broken({ user: "a\nb" }), path: "/user" },
        { config: broken({ password: "ä" }), path: "/password" },
        { config: broken({ mode: "rows" }), path: "/mode" },
        { config: broken({ batchSize: 0 }), path: "/batchSize" },
        { config: broken({ timeoutMs: 1e9 }), path: "/timeoutMs" },
      ],
      unusable: [
        { config: broken({ url: "http://10.0.0.1:8123" }), step: "resolve" },
        { config: broken({ url: "http://127.0.0.1:1" }), step: "connect" },
        { config: broken({ url: `https://127.0.0.1:${server.port}` }), step: "tls" },
        { config: broken({ password: "wrong" }), step: "sign-in" },
        { config: broken({ database: "tableless" }), step: "write" },
      ],
      async arrived() {
        const there = await server.ask(`exists ${config.database}.events`);
        if (there === "0") return [];
        // The table is in the order of its key; events say their own.
        const rows = await server.rows(`select payload from ${config.database}.events final`);
        const values = rows.map(({ payload }) => JSON.parse(payload as string));
        return values.sort((a, b) => a.n - b.n);
      },
      async end() {},
    };
  });
}

describeReal("tables of ClickHouse", () => {
  test("have a row for each user with the latest traits", async () => {
    const config = configOf();
    const open = opened(config);
    const identify = (n: number, userId: string, traits: object) =>
      outgoing({
        ...{ type: "identify", messageId: `m${n}`, userId, traits },
        receivedAt: `2026-01-02T03:04:0${n}.000Z`,
      });
    await open.deliver(
      [identify(1, "u1", { plan: "free", city: "Bonn" }), identify(2, "u1", { plan: "pro" })],
      signal,
    );
    await open.deliver(
      [identify(4, "u2", { plan: "free" }), identify(5, "u1", { age: 5 })],
      signal,
    );
    const [one, two] = await rowsOf(config.database, "users");
    expect(one).toMatchObject({ id: "u1", plan: "pro", city: "Bonn", age: 5 });
    expect(two).toMatchObject({ id: "u2", plan: "free" });
    expect(await rowsOf(config.database, "users")).toHaveLength(2);
  });

  test("of users are left alone if another program made them", async () => {
    const config = configOf();
    await server.ask(`create database ${config.database}`);
    await server.ask(
      `create table ${config.database}.users (id String, email String) engine = ReplacingMergeTree order by id`,
    );
    const event = outgoing({ type: "identify", messageId: "m", userId: "u", traits: { a: 1 } });
    expect(await opened(config).deliver([event], signal)).toEqual({ kind: "delivered" });
    expect(await rowsOf(config.database, "users")).toEqual([]);
    expect(await rowsOf(config.database, "identifies")).toHaveLength(1);
  });

  test("have RudderStack's columns and one for each property", async () => {
    const config = configOf();
    const event = {
      type: "track",
      event: "Order Completed",
      messageId: "m1",
      anonymousId: "a1",
      receivedAt: "2026-01-02T03:04:05.678Z",
      context: { library: { name: "js" } },
      properties: { total: 12.5, count: 3, gift: true, when: "2026-02-03", items: [{ sku: "x" }] },
    };
    const page = { ...event, type: "page", event: undefined, messageId: "m2", name: "Home" };
    const events = [event, page].map((one) => outgoing(one));
    expect(await opened(config).deliver(events, signal)).toEqual(delivered);
    const common = {
      anonymous_id: "a1",
      received_at: "2026-01-02 03:04:05.678",
      context_library_name: "js",
      total: 12.5,
      count: 3,
      gift: true,
      when: "2026-02-03 00:00:00.000",
      items: '[{"sku":"x"}]',
    };
    expect(await rowsOf(config.database)).toEqual([
      { id: "m1", ...common, event: "order_completed", event_text: "Order Completed" },
    ]);
    expect(await rowsOf(config.database, "pages")).toEqual([{ id: "m2", ...common, name: "Home" }]);
  });

  test("a repeated event changes nothing, in the same batch or another", async () => {
    const config = configOf();
    const open = opened(config);
    const events = [track("m1", { a: 1 }), track("m2", { a: 3 })];
    for (let n = 0; n < 3; n++) expect(await open.deliver(events, signal)).toEqual(delivered);
    // The same batch is known by its token, before any merge.
    expect(await server.ask(`select count() from ${config.database}.tracks`)).toBe("2");
    expect(await open.deliver([events[1]!, track("m3", {})], signal)).toEqual(delivered);
    expect(await idsOf(config.database)).toEqual(["m1", "m2", "m3"]);
  });

  test("a new property makes a column, and a value that does not fit goes into the property's text column", async () => {
    const config = configOf();
    const open = opened(config);
    for (const batch of [
      [track("m1", { n: 1, t: "text", w: true, d: "2026-01-01" })],
      [track("m2", { n: "many", t: 5, w: 2, fresh: "2026-01-01T00:00:00Z", d: "0001-01-01" })],
      [track("m3", { n: 1.5, t: [1, 2], w: "yes", fresh: "tomorrow", d: "9999-01-01" })],
      [track("m4", { n: 2 ** 60, w: false, fresh: "2026-13-45" }), track("m5", { n: 1e300 })],
    ]) {
      expect(await open.deliver(batch, signal)).toEqual(delivered);
    }
    const shown = (await rowsOf(config.database)).map((row) =>
      Object.fromEntries(
        Object.entries(row).filter(([name, v]) => v !== null && /^(n|t|w|d|fresh)/.test(name)),
      ),
    );
    expect(shown).toEqual([
      { n: 1, t: "text", w: true, d: "2026-01-01 00:00:00.000" },
      {
        n__text: "many",
        t: "5",
        w__text: "2",
        fresh: "2026-01-01 00:00:00.000",
        d__text: "0001-01-01",
      },
      {
        n__text: "1.5",
        t: "[1,2]",
        w__text: "yes",
        fresh__text: "tomorrow",
        d__text: "9999-01-01",
      },
      { n: 2 ** 60, w: false, fresh__text: "2026-13-45" },
      { n__text: "1e+300" },
    ]);
  });

  test("unusual names and values all arrive", async () => {
    const config = configOf();
    const long = "a".repeat(150);
    const properties = {
      Foo: 1,
      foo: 2,
      FOO: 1,
      select: "s",
      table: "t",
      id: "mine",
      größe: 3,
      日本: 4,
      [`${long}x`]: "x",
      [`${long}y`]: "y",
      nul: "a\0b",
      half: "\ud800",
      emoji: "🙂",
      quote: "'\"\\\t\n",
      huge: 2 ** 80,
      nan: "NaN",
      date: "2026-02-30",
      list: [],
      "a.b": 1,
    };
    expect(await opened(config).deliver([track("m1", properties)], signal)).toEqual(delivered);
    const [row] = await rowsOf(config.database);
    expect(row).toMatchObject({
      foo: 1,
      select: "s",
      table: "t",
      id: "m1",
      gr_e: 3,
      nul: "ab",
      half: "\ufffd",
      emoji: "🙂",
      quote: "'\"\\\t\n",
      huge: 2 ** 80,
      nan: "NaN",
      date: "2026-02-30",
      a_b: 1,
    });
    expect(JSON.parse(row!.rest__json as string)).toEqual({ foo: 2, id: "mine", 日本: 4 });
    const names = Object.keys(row!).filter((name) => name.startsWith("aaaa"));
    expect(names.map((name) => [name.length, row![name]])).toEqual([
      [127, "x"],
      [127, "y"],
    ]);
  });

  test("an event with 1,000 properties keeps them all, in a bounded number of columns", async () => {
    const config = configOf();
    const open = opened(config);
    for (let n = 0; n < 7; n++) {
      const properties = Object.fromEntries(
        [...Array(1_000)].map((_, m) => [`${"pqrstuv"[n]}${m}`, n]),
      );
      expect(await open.deliver([track(`m${n}`, properties)], signal)).toEqual(delivered);
    }
    const rows = await rowsOf(config.database);
    expect(rows.length).toBe(7);
    for (const row of rows) {
      const own = Object.entries(row).filter(([name, v]) => v !== null && /^[p-v]_\d/.test(name));
      const rest = Object.keys(JSON.parse(row.rest__json as string));
      expect(own.length).toBeLessThanOrEqual(TABLE_EVENT_COLUMNS_MAX);
      expect(own.length + rest.length).toBe(1_000);
    }
  });

  test("destinations that create the same tables concurrently both succeed", async () => {
    const config = configOf();
    const opens = Array.from({ length: 4 }, () => opened(config));
    const verdicts = await Promise.all(
      opens.flatMap((open, n) =>
        [0, 1, 2].map((m) => open.deliver([track(`m${n}-${m}`, { [`p${m}`]: n })], signal)),
      ),
    );
    expect(new Set(verdicts.map(({ kind }) => kind))).toEqual(new Set(["delivered"]));
    expect((await idsOf(config.database)).length).toBe(12);
  });
});

describeReal("failures of ClickHouse", () => {
  test("a wrong password or a closed port is a retry, and a private address is refused", async () => {
    const wrong = await opened(configOf({ password: "wrong" })).deliver([track("m", {})], signal);
    expect(wrong.kind).toBe("retry");
    expect(reasonOf(wrong)).toContain("does not accept the user or the password");
    const gone = await opened(configOf({ url: "http://127.0.0.1:1" })).deliver(
      [track("m", {})],
      signal,
    );
    expect([gone.kind, reasonOf(gone)]).toEqual([
      "retry",
      "The request failed: connection refused (ECONNREFUSED)",
    ]);
    const guarded: DestinationKind = clickhouseKind(createEgress({ allow: [] }));
    const strict = guarded.open(configOf(), "workspace");
    expect(await strict.deliver([track("m", {})], signal)).toEqual({
      kind: "rejected",
      reason: "Requests must not reach this address (loopback) unless `egress.allow` holds it",
    });
  });

  test("a table or database that is dropped, or stripped of columns, is created again", async () => {
    const config = configOf();
    const open = opened(config);
    const { database } = config;
    const deliver = async (id: string) => {
      expect(await open.deliver([track(id, { a: 1, b: 2 })], signal)).toEqual(delivered);
    };
    await deliver("m1");
    await server.ask(`drop table ${database}.tracks sync`);
    await deliver("m2");
    await server.ask(`drop database ${database} sync`);
    await deliver("m3");
    await server.ask(`alter table ${database}.tracks drop column a, drop column user_id`);
    await deliver("m4");
    expect((await rowsOf(database)).map(({ id, a }) => [id, a])).toEqual([
      ["m3", null],
      ["m4", 1],
    ]);
  });

  test("columns whose type was changed get the values that fit, and their text columns the rest", async () => {
    const config = configOf();
    const open = opened(config);
    const types = {
      i: "Int8",
      u: "UInt16",
      l: "LowCardinality(Nullable(String))",
      f: "Float32",
      d: "Nullable(DateTime('UTC'))",
      a: "Array(String)",
      m: "String materialized 'x'",
    };
    const values = Object.fromEntries(Object.keys(types).map((name) => [name, "1"]));
    expect(await open.deliver([track("m1", values)], signal)).toEqual(delivered);
    for (const [name, type] of Object.entries(types)) {
      await server.ask(
        `alter table ${config.database}.tracks drop column ${name}, add column ${name} ${type}`,
      );
    }
    const batch = [
      track("m2", { i: 300, u: -1, l: "low", f: 1e300, d: "1950-01-01", a: ["x"], m: "y" }),
      track("m3", { i: -5, u: 60_000, l: 5, f: 2.5, d: "2026-01-01", a: "x", m: 1 }),
    ];
    expect(await open.deliver(batch, signal)).toEqual(delivered);
    const [, two, three] = await rowsOf(config.database);
    expect(two).toMatchObject({
      i__text: "300",
      u__text: "-1",
      l: "low",
      f__text: "1e+300",
      d__text: "1950-01-01",
      a__text: '["x"]',
      m__text: "y",
    });
    expect(three).toMatchObject({
      i: -5,
      u: 60_000,
      l: "5",
      f: 2.5,
      d: "2026-01-01 00:00:00",
      a__text: "x",
      m__text: "1",
    });
  });

  test("an event that violates a constraint becomes a dead letter that names it", async () => {
    const config = configOf();
    const open = opened(config);
    expect(await open.deliver([track("m1", { a: 1 })], signal)).toEqual(delivered);
    await server.ask(`alter table ${config.database}.tracks add constraint low check a < 5`);
    const high = await open.deliver([track("m2", { a: 9 })], signal);
    expect(high.kind).toBe("rejected");
    expect(reasonOf(high)).toContain("low");
    expect(await open.deliver([track("m3", { a: 4 })], signal)).toEqual(delivered);
  });

  test("a connection that stalls or breaks anywhere loses and duplicates no event", async () => {
    const proxy = new TcpProxy(server.port);
    ends.push(() => proxy.close());
    const port = await proxy.listen();
    const config = configOf({ url: `http://127.0.0.1:${port}`, timeoutMs: 4_000 });
    const open = opened(config);
    let pieces = 0;
    let cutAt = 0;
    const cut = () => ++pieces !== cutAt;
    proxy.onSent = cut;
    proxy.onAnswered = cut;
    for (let n = 0; n < 16; n++) {
      pieces = 0;
      cutAt = (n % 8) + 1;
      proxy.isStalled = n === 7;
      const batch = [track(`m${n}`, { [`p${n}`]: 1 }), track(`n${n}`, { a: "x".repeat(5_000) })];
      let verdict = await open.deliver(batch, signal);
      cutAt = 0;
      proxy.isStalled = false;
      while (verdict.kind === "retry") verdict = await open.deliver(batch, signal);
      expect(verdict).toEqual(delivered);
    }
    expect((await idsOf(config.database)).length).toBe(32);
  });

  test("a server that has stored the token of a batch without its rows when it crashed gets them again", async () => {
    const proxy = new TcpProxy(server.port);
    ends.push(() => proxy.close());
    const config = configOf({ url: `http://127.0.0.1:${await proxy.listen()}` });
    const open = opened(config);
    expect(await open.deliver([track("m0", { a: 0 })], signal)).toEqual(delivered);
    const batch = [track("m1", { a: 1 }), track("m2", { a: 2 })];
    proxy.onAnswered = () => false;
    expect((await open.deliver(batch, signal)).kind).toBe("retry");
    proxy.onAnswered = () => true;
    // The batch is stored. A mutation removes its rows, and not its token, as such a crash does.
    const rows = `${config.database}.tracks`;
    await until(async () => (await server.ask(`select count() from ${rows}`)) === "3");
    await server.ask(`alter table ${rows} delete where id != 'm0' settings mutations_sync = 2`);
    await server.stop();
    await server.run();
    expect(await open.deliver(batch, signal)).toEqual(delivered);
    expect(await idsOf(config.database)).toEqual(["m0", "m1", "m2"]);
    // A repetition is recognized again afterwards.
    expect(await open.deliver([track("m3", { a: 3 })], signal)).toEqual(delivered);
    expect(await open.deliver([track("m3", { a: 3 })], signal)).toEqual(delivered);
    expect(await server.ask(`select count() from ${rows} where id = 'm3'`)).toBe("1");
  });

  test("a batch that was sent before both servers crashed gets its rows, and is not written twice", async () => {
    const config = configOf();
    // The server tells its uptime in whole seconds.
    await until(async () => Number(await server.ask("select uptime()")) > 1);
    const receivedAt = new Date().toISOString();
    const batch = [track("m1", { a: 1 }, { receivedAt }), track("m2", { a: 2 }, { receivedAt })];
    expect(await opened(config).deliver([track("m0", {})], signal)).toEqual(delivered);
    expect(await opened(config).deliver(batch, signal)).toEqual(delivered);
    // A new connection is that of a pixelmill that has restarted, and delivers the batch again.
    const rows = `${config.database}.tracks`;
    expect(await opened(config).deliver(batch, signal)).toEqual(delivered);
    expect(await server.ask(`select count() from ${rows}`)).toBe("3");
    await server.ask(`alter table ${rows} delete where id != 'm0' settings mutations_sync = 2`);
    await server.stop();
    await server.run();
    expect(await opened(config).deliver(batch, signal)).toEqual(delivered);
    expect(await idsOf(config.database)).toEqual(["m0", "m1", "m2"]);
  });

  test("a server that crashes repeatedly during batches loses and duplicates no event", async () => {
    const config = configOf({ timeoutMs: 30_000 });
    const open = opened(config);
    let isOver = false;
    const dying = (async () => {
      for (let n = 0; n < 3; n++) {
        await Bun.sleep(300);
        await server.stop();
        await server.run();
      }
      isOver = true;
    })();
    let sent = 0;
    while (!isOver || sent < 50) {
      const batch = [0, 1, 2].map((m) => track(`m${sent}-${m}`, { sent, [`p${sent % 20}`]: m }));
      for (;;) {
        const verdict = await open.deliver(batch, signal);
        if (verdict.kind === "delivered") break;
        expect(verdict.kind).toBe("retry");
        await Bun.sleep(20);
      }
      sent += 1;
    }
    await dying;
    const counted = `select count(), uniqExact(id) from ${config.database}.tracks final`;
    expect(await server.ask(counted)).toBe(`${3 * sent}\t${3 * sent}`);
  });
});

testWith(firstMissing(clickhouseMissing, mountMissing))(
  "batches wait while the disk of the server is full, and none of their events is blamed",
  async () => {
    const disk = mkdtempSync(join(tmpdir(), "pixelmill-test-disk-"));
    mountDisk(disk, 128 << 20);
    ends.push(() => {
      unmountDisk(disk);
      rmdirSync(disk);
    });
    const small = await ClickhouseServer.start(disk);
    ends.push(() => small.end());
    const open = opened({ ...small.account, database: "d" });
    const text = "x".repeat(3_000);
    const batches = [1, 2, 3].map((n) =>
      Array.from({ length: 50 }, (_, m) => track(`m${n}-${m}`, { text })),
    );
    // Another table, which is not there yet.
    batches.push([outgoing({ type: "page", messageId: "p" })]);
    expect(await open.deliver([track("m0", {})], signal)).toEqual(delivered);
    fillDisk(disk);
    for (const batch of batches) expect((await open.deliver(batch, signal)).kind).toBe("retry");
    makeSpace(disk);
    for (const batch of batches) expect(await open.deliver(batch, signal)).toEqual(delivered);
    expect(await small.ask("select count(), uniqExact(id) from d.tracks final")).toBe("151\t151");
    expect(await small.ask("select count() from d.pages final")).toBe("1");
    await open.close();
  },
);

describe("without a server", () => {
  test("names are quoted completely", () => {
    expect(quoted("a`b\\c")).toBe("`a\\`b\\\\c`");
  });

  test.each([
    ["String", "string"],
    ["Nullable(String)", "string"],
    ["LowCardinality(Nullable(String))", "string"],
    ["Int64", "int"],
    ["UInt8", "int"],
    ["Nullable(Float64)", "float"],
    ["Bool", "boolean"],
    ["Nullable(DateTime64(3, 'UTC'))", "datetime"],
    ["DateTime", "datetime"],
    ["FixedString(3)", "other"],
    ["Array(String)", "other"],
    ["Date", "other"],
    ["UInt256", "other"],
  ] as const)("a column of %s takes what is %s", (sqlType, type) => {
    expect(columnOf(sqlType, "").type).toBe(type);
    expect(columnOf(sqlType, "MATERIALIZED").type).toBe("other");
  });

  test("a server that does not know virtual columns is asked for the others", async () => {
    const asked: string[] = [];
    const old = Bun.serve({
      port: 0,
      async fetch(request) {
        const text = await request.text();
        asked.push(text.split(" ", 2).join(" "));
        if (text.includes("system.tables")) {
          return new Response('["ReplacingMergeTree", "received_at, id", ""]\n');
        }
        if (text.includes("describe_include_virtual_columns")) {
          return new Response("Code: 115. DB::Exception: Unknown setting.", { status: 404 });
        }
        if (!text.startsWith("describe")) return new Response("");
        const columns = ["id", "received_at", "user_id", "event", "event_text"].map((name) => {
          const type = name === "received_at" ? "DateTime64(3, 'UTC')" : "String";
          return JSON.stringify([name, type, "", "", "", "", ""]);
        });
        return new Response(columns.join("\n"));
      },
    });
    ends.push(() => old.stop(true));
    const open = opened({ url: `http://127.0.0.1:${old.port}` });
    expect(await open.deliver([track("m", {})], signal)).toEqual(delivered);
    expect(asked).toEqual([
      ...["select engine,", "describe table", "describe table", "select uptime()", "insert into"],
    ]);
  });

  test.each([
    ["200 OK", "<html>", "does not answer as ClickHouse does"],
    ["502 Bad Gateway", "", "The server answered 502"],
    ["401 No", "", "The server answered 401"],
    [
      "500 No",
      "Code: 243. DB::Exception: Cannot reserve 1 MiB. (NOT_ENOUGH_SPACE)",
      "disk is full",
    ],
    ["500 No", "Code: 252. DB::Exception: Too many parts. (TOO_MANY_PARTS)", "too many parts"],
    ["500 No", "Code: 164. DB::Exception: Cannot execute. (READONLY)", "may only read"],
  ])("what answers %s %s is tried again", async (status, body, reason) => {
    const sink = new RawSink((socket) => {
      socket.write(`HTTP/1.1 ${status}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    });
    const url = `http://127.0.0.1:${await sink.listen()}`;
    const verdict = await opened({ url }).deliver([track("m", {})], signal);
    expect(verdict.kind).toBe("retry");
    expect(reasonOf(verdict)).toContain(reason);
    expect(reasonOf(verdict)).toMatch(/^[A-Z].*[^.]$/);
    sink.close();
  });
});
