import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { chownSync, mkdirSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import type {
  DestinationKind,
  OpenDestination,
  OutgoingEvent,
} from "../../../src/destinations/destination.ts";
import { postgresKind } from "../../../src/destinations/postgres/postgres.ts";
import {
  PostgresMessageReader,
  rowOf,
  simpleQuery,
} from "../../../src/destinations/postgres/protocol.ts";
import { TABLE_EVENT_COLUMNS_MAX } from "../../../src/destinations/tables/limits.ts";
import { createEgress } from "../../../src/egress/egress.ts";
import { describeWith, firstMissing, testWith } from "../../counterpart.ts";
import { finding } from "../../egress/request-client.ts";
import { ca } from "../../egress/tls.ts";
import { fillDisk, makeSpace, mountDisk, mountMissing, unmountDisk } from "../../small-disk.ts";
import { describeDestination } from "../contract.ts";
import { outgoing } from "../outgoing.ts";
import { TcpProxy } from "../proxy.ts";
import { PostgresServer, postgresMissing } from "./postgres-server.ts";

setDefaultTimeout(300_000);

const describeReal = describeWith(postgresMissing);
let server: PostgresServer;
let schemas = 0;
const ends: (() => unknown)[] = [];

beforeAll(async () => {
  if (postgresMissing === undefined) server = await PostgresServer.start();
});
afterAll(async () => await server?.end());
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const egress = createEgress({ allow: ["127.0.0.0/8"], resolve: finding("127.0.0.1") });
const kind: DestinationKind = postgresKind(egress);
const { signal } = new AbortController();

/** A config with a schema of its own. */
function configOf(over: Record<string, unknown> = {}) {
  schemas += 1;
  return { ...server.account, tls: "off", schema: `s${schemas}`, ...over };
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

const rowsOf = (schema: unknown, table = "tracks") =>
  server.rows(`select * from "${schema}"."${table}" order by id`);
const idsOf = async (schema: unknown, table = "tracks") =>
  (await rowsOf(schema, table)).map(({ id }) => id);

if (postgresMissing === undefined) {
  describeDestination("postgres", async () => {
    const config = configOf({ mode: "raw", batchSize: 10 });
    const broken = (over: Record<string, unknown>) => ({ ...config, ...over });
    const { host: _, ...hostless } = config;
    return {
      kind,
      config,
      faulty: [
        { config: hostless, path: "/host" },
        { config: broken({ host: "" }), path: "/host" },
        { config: broken({ host: "db.test:5432" }), path: "/host" },
        { config: broken({ port: 0 }), path: "/port" },
        { config: broken({ port: "5432" }), path: "/port" },
        { config: broken({ user: "a\0b" }), path: "/user" },
        { config: broken({ password: 1 }), path: "/password" },
        { config: broken({ schema: 'a"; drop table x' }), path: "/schema" },
        { config: broken({ schema: "x".repeat(64) }), path: "/schema" },
        { config: broken({ tls: "maybe" }), path: "/tls" },
        { config: broken({ mode: "rows" }), path: "/mode" },
        { config: broken({ eventTables: "yes" }), path: "/eventTables" },
        { config: broken({ rawTable: "a b" }), path: "/rawTable" },
        { config: broken({ batchSize: 0 }), path: "/batchSize" },
        { config: broken({ timeoutMs: 1e9 }), path: "/timeoutMs" },
      ],
      unusable: [
        { config: broken({ host: "10.0.0.1" }), step: "resolve" },
        { config: broken({ port: 1 }), step: "connect" },
        { config: broken({ tls: "verify" }), step: "tls" },
        { config: broken({ password: "wrong" }), step: "sign-in" },
        { config: broken({ schema: "pg_own" }), step: "write" },
      ],
      async arrived() {
        if ((await server.ask(`select to_regclass('${config.schema}.events')`)) === "") return [];
        const rows = await server.rows(`select payload from ${config.schema}.events order by ctid`);
        return rows.map(({ payload }) => payload);
      },
      async end() {},
    };
  });
}

describeReal("tables of PostgreSQL", () => {
  test("of mode raw have events with all digits of their numbers", async () => {
    const config = configOf({ mode: "raw" });
    const event =
      '{"type":"track","messageId":"m","id":12345678901234567890,"text":"\\ud83d\\ude42"}';
    const verdict = await opened(config).deliver([outgoing(Buffer.from(event))], signal);
    expect(verdict).toEqual({ kind: "delivered" });
    const parts = "payload->>'id' as id, payload->>'text' as text";
    const rows = await server.rows(`select ${parts} from ${config.schema}.events`);
    expect(rows).toEqual([{ id: "12345678901234567890", text: "🙂" }]);
  });

  test("have a row for each user with the latest traits, whatever order events arrive in", async () => {
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
    // An earlier event that is delivered once more changes nothing that is known.
    await open.deliver([identify(3, "u1", { plan: "old", first: true })], signal);
    expect((await rowsOf(config.schema, "users"))[0]).toMatchObject({ plan: "pro", first: true });
    const [one, two] = await rowsOf(config.schema, "users");
    expect(one).toMatchObject({ id: "u1", plan: "pro", city: "Bonn", age: 5 });
    expect(two).toMatchObject({ id: "u2", plan: "free" });
    expect(await rowsOf(config.schema, "users")).toHaveLength(2);
  });

  test("of users are left alone if another program made them", async () => {
    const config = configOf();
    await server.ask(`create schema "${config.schema}"`);
    await server.ask(`create table "${config.schema}".users (id text primary key, email text)`);
    const event = outgoing({ type: "identify", messageId: "m", userId: "u", traits: { a: 1 } });
    expect(await opened(config).deliver([event], signal)).toEqual({ kind: "delivered" });
    expect(await rowsOf(config.schema, "users")).toEqual([]);
    expect(await rowsOf(config.schema, "identifies")).toHaveLength(1);
  });

  test("have RudderStack's columns and one for each property", async () => {
    const config = configOf();
    const event = {
      type: "track",
      event: "Order Completed",
      messageId: "m1",
      anonymousId: "a1",
      userId: "u1",
      receivedAt: "2026-01-02T03:04:05.678Z",
      sentAt: "2026-01-02T03:04:04Z",
      originalTimestamp: "2026-01-02T03:04:03.000Z",
      channel: "web",
      request_ip: "1.2.3.4",
      context: { library: { name: "js", version: "1" }, screen: { width: 1920 } },
      properties: { total: 12.5, count: 3, gift: true, when: "2026-02-03", items: [{ sku: "x" }] },
    };
    const page = { ...event, type: "page", event: undefined, messageId: "m2", name: "Home" };
    const events = [event, page].map((one) => outgoing(one));
    expect(await opened(config).deliver(events, signal)).toEqual({ kind: "delivered" });
    const common = {
      anonymous_id: "a1",
      user_id: "u1",
      received_at: "2026-01-02T03:04:05.678+00:00",
      sent_at: "2026-01-02T03:04:04+00:00",
      channel: "web",
      context_ip: "1.2.3.4",
      original_timestamp: "2026-01-02T03:04:03+00:00",
      context_request_ip: "1.2.3.4",
      context_library_name: "js",
      context_library_version: "1",
      context_screen_width: 1920,
      total: 12.5,
      count: 3,
      gift: true,
      _when: "2026-02-03T00:00:00+00:00",
      items: '[{"sku":"x"}]',
    };
    expect(await rowsOf(config.schema)).toEqual([
      { id: "m1", ...common, event: "order_completed", event_text: "Order Completed" },
    ]);
    expect(await rowsOf(config.schema, "pages")).toEqual([{ id: "m2", ...common, name: "Home" }]);
  });

  test("an event's own table has its properties, `tracks` what all events have", async () => {
    const config = configOf({ eventTables: true });
    const events = [
      track("m1", { total: 1 }, { event: "Order Completed" }),
      track("m2", { total: 2 }, { event: "tracks" }),
      track("m3", { total: 3 }, { event: "???" }),
    ];
    expect(await opened(config).deliver(events, signal)).toEqual({ kind: "delivered" });
    expect(await idsOf(config.schema, "order_completed")).toEqual(["m1"]);
    expect(await idsOf(config.schema, "_tracks")).toEqual(["m2"]);
    const tracks = await rowsOf(config.schema);
    // A name of which nothing can be kept makes no table, and loses nothing.
    expect(tracks.map(({ id, total }) => [id, total])).toEqual([
      ["m1", null],
      ["m2", null],
      ["m3", 3],
    ]);
  });

  test("a repeated event changes nothing", async () => {
    const config = configOf();
    const open = opened(config);
    const events = [track("m1", { a: 1 }), track("m1", { a: 2 }), track("m2", { a: 3 })];
    for (let n = 0; n < 3; n++) await open.deliver(events, signal);
    expect((await rowsOf(config.schema)).map(({ id, a }) => [id, a])).toEqual([
      ["m1", 1],
      ["m2", 3],
    ]);
  });

  test("a new property makes a column, and a value that does not fit goes into the property's text column", async () => {
    const config = configOf();
    const open = opened(config);
    for (const batch of [
      [track("m1", { n: 1, t: "text", w: true })],
      [track("m2", { n: "many", t: 5, w: 2, fresh: "2026-01-01T00:00:00Z" })],
      [track("m3", { n: 1.5, t: [1, 2], w: "yes", fresh: "tomorrow" })],
      [track("m4", { n: 2 ** 60, w: false, fresh: "2026-13-45" }), track("m5", { n: 1e300 })],
    ]) {
      expect(await open.deliver(batch, signal)).toEqual({ kind: "delivered" });
    }
    const shown = (await rowsOf(config.schema)).map((row) =>
      Object.fromEntries(
        Object.entries(row).filter(
          ([name, value]) => value !== null && /^(n|t|w|fresh)/.test(name),
        ),
      ),
    );
    expect(shown).toEqual([
      { n: 1, t: "text", w: true },
      { n__text: "many", t: "5", w__text: "2", fresh: "2026-01-01T00:00:00+00:00" },
      { n__text: "1.5", t: "[1,2]", w__text: "yes", fresh__text: "tomorrow" },
      { n: 2 ** 60, w: false, fresh__text: "2026-13-45" },
      { n__text: "1e+300" },
    ]);
  });

  test("values of one batch make a column of a type that fits all", async () => {
    const config = configOf();
    const events = [track("m1", { n: 1, x: 1 }), track("m2", { n: 1.5, x: "a" })];
    await opened(config).deliver(events, signal);
    expect((await rowsOf(config.schema)).map(({ n, x }) => [n, x])).toEqual([
      [1, "1"],
      [1.5, "a"],
    ]);
  });

  test("unusual names and values all arrive", async () => {
    const config = configOf();
    const long = "a".repeat(80);
    const properties = {
      Foo: 1,
      foo: 2,
      FOO: 1,
      select: "s",
      user: "u",
      table: "t",
      id: "mine",
      sent_at: "x",
      [`${long}x`]: "x",
      [`${long}y`]: "y",
      größe: 3,
      日本: 4,
      "": 5,
      __proto: 6,
      "9to5": 7,
      nul: "a\0b",
      half: "\ud800",
      emoji: "🙂",
      quote: "'\"\\\t\n",
      huge: 2 ** 80,
      nan: "NaN",
      infinity: 1e308 * 10,
      date: "2026-02-30",
      old: "0001-01-01",
      empty: "",
      none: null,
      list: [],
      object: {},
      "a.b": 1,
      "a b": 2,
      $a: { b: { C: [{}] } },
      ["__proto__"]: "proto",
    };
    const text = JSON.stringify({ ...properties }).replace(/}$/, ',"__proto__":"proto"}');
    const event = `{"type":"track","event":"odd","messageId":"m1","properties":${text}}`;
    expect(await opened(config).deliver([outgoing(Buffer.from(event))], signal)).toEqual({
      kind: "delivered",
    });
    const [row] = await rowsOf(config.schema);
    const rest = JSON.parse(row!.rest__json as string);
    expect(row).toMatchObject({
      foo: 1,
      _select: "s",
      _user: "u",
      _table: "t",
      id: "m1",
      gr_e: 3,
      _9_to_5: 7,
      nul: "ab",
      half: "\ufffd",
      emoji: "🙂",
      quote: "'\"\\\t\n",
      huge: 2 ** 80,
      nan: "NaN",
      a_b: 1,
      a_b_c: "[{}]",
      _old: "0001-01-01T00:00:00+00:00",
      date: "2026-02-30",
      __proto: 6,
    });
    expect(rest).toMatchObject({ foo: 2, id: "mine", sent_at: "x", 日本: 4, "a b": 2 });
    const names = Object.keys(row!).filter((name) => name.startsWith("aaaa"));
    expect(names.map((name) => [name.length, row![name]])).toEqual([
      [63, "x"],
      [63, "y"],
    ]);
  });

  test("an event with 1,000 properties keeps them all, in a bounded number of columns", async () => {
    const config = configOf();
    const open = opened(config);
    const many = (prefix: string, value: unknown) =>
      Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`${prefix}${n}`, value]));
    const wide = "x".repeat(200);
    for (const [n, value] of [1, wide, true, 1.5, "2026-01-01"].entries()) {
      const batch = [track(`m${n}`, many(`p${"abcde"[n]}`, value))];
      expect(await open.deliver(batch, signal)).toEqual({ kind: "delivered" });
    }
    // Further tables' worth of names do not fit any more.
    for (let n = 5; n < 12; n++) {
      const batch = [track(`m${n}`, many(`q${"abcdefghijklm"[n]}`, n))];
      expect(await open.deliver(batch, signal)).toEqual({ kind: "delivered" });
    }
    const rows = await rowsOf(config.schema);
    expect(rows.length).toBe(12);
    for (const row of rows) {
      const own = Object.entries(row).filter(([name, v]) => v !== null && /^[pq][a-m]/.test(name));
      const rest = Object.keys(JSON.parse(row.rest__json as string));
      expect(own.length).toBeLessThanOrEqual(TABLE_EVENT_COLUMNS_MAX);
      expect(own.length + rest.length).toBe(1_000);
    }
  });

  test("destinations that create the same tables concurrently both succeed", async () => {
    const config = configOf();
    const opens = Array.from({ length: 6 }, () => opened(config));
    const verdicts = await Promise.all(
      opens.flatMap((open, n) =>
        [0, 1, 2].map((m) =>
          open.deliver([track(`m${n}-${m}`, { [`p${m}`]: n, shared: m })], signal),
        ),
      ),
    );
    expect(new Set(verdicts.map(({ kind }) => kind))).toEqual(new Set(["delivered"]));
    expect((await idsOf(config.schema)).length).toBe(18);
  });

  test.each([
    ["no type", { messageId: "m" }, "Expected an event of type track, page"],
    ["an odd type", { type: "toString", messageId: "m" }, "Expected an event of type"],
    [
      "a long id",
      { type: "page", messageId: "x".repeat(2_000) },
      "messageId of at most 1024 bytes",
    ],
    ["an id that is none", { type: "page", messageId: { a: 1 } }, "messageId of at most"],
    ["no object", [1], "Expected an event that is a JSON object"],
  ])(
    "an event with %s is refused and says why, the others are delivered",
    async (_, event, reason) => {
      const config = configOf();
      const events = [outgoing(event), track("good", { a: 1 })];
      const verdict = await opened(config).deliver(events, signal);
      expect(await idsOf(config.schema)).toEqual(["good"]);
      expect([...(verdict as { refused?: Map<number, string> }).refused!]).toEqual([
        [0, expect.stringContaining(reason)],
      ]);
    },
  );
});

describeReal("failures of PostgreSQL", () => {
  const retry = (reason: string) => ({ kind: "retry", reason: expect.stringContaining(reason) });
  const delivered = { kind: "delivered" };

  test("a wrong password, user or database is a retry with its reason", async () => {
    const tried = async (over: object) =>
      await opened(configOf(over as Record<string, unknown>)).deliver([track("m", {})], signal);
    const refused = "does not accept the user or the password";
    expect(await tried({ password: "wrong" })).toMatchObject(retry(refused));
    expect(await tried({ user: "unknown" })).toMatchObject(retry(refused));
    expect(await tried({ database: "none" })).toMatchObject(retry("There is no such database"));
  });

  test("a closed port is a retry, and a private address is refused", async () => {
    const open = opened(configOf({ port: 1 }));
    expect(await open.deliver([track("m", {})], signal)).toEqual(retry("ECONNREFUSED") as never);
    const guarded: DestinationKind = postgresKind(createEgress({ allow: [] }));
    const strict = guarded.open(configOf(), "workspace");
    expect(await strict.deliver([track("m", {})], signal)).toEqual({
      kind: "rejected",
      reason: "Requests must not reach this address (loopback) unless `egress.allow` holds it",
    });
    await strict.close();
  });

  test("a table that is dropped, renamed or stripped of columns is created again", async () => {
    const config = configOf();
    const open = opened(config);
    const { schema } = config;
    expect(await open.deliver([track("m1", { a: 1, b: 2 })], signal)).toEqual(delivered as never);
    await server.ask(`drop table ${schema}.tracks`);
    expect(await open.deliver([track("m2", { a: 1, b: 2 })], signal)).toEqual(delivered as never);
    await server.ask(`alter table ${schema}.tracks rename to old`);
    expect(await open.deliver([track("m3", { a: 1, b: 2 })], signal)).toEqual(delivered as never);
    await server.ask(`alter table ${schema}.tracks drop column a, drop column user_id`);
    expect(await open.deliver([track("m4", { a: 1, b: 2 })], signal)).toEqual(delivered as never);
    expect((await rowsOf(schema)).map(({ id, a }) => [id, a])).toEqual([
      ["m3", null],
      ["m4", 1],
    ]);
  });

  test("columns whose type was changed get the values that fit, and their text columns the rest", async () => {
    const config = configOf();
    const open = opened(config);
    const types = {
      i: "smallint",
      v: "varchar(3)",
      n: "numeric(4,2)",
      d: "date",
      j: "jsonb",
      r: "real",
    };
    const values = { i: "1", v: "1", n: "1", d: "2026-01-01 x", j: "1", r: "1" };
    expect(await open.deliver([track("m1", values)], signal)).toEqual(delivered as never);
    for (const [name, type] of Object.entries(types)) {
      await server.ask(
        `alter table ${config.schema}.tracks drop column ${name}, add column ${name} ${type}`,
      );
    }
    const batch = [
      track("m2", { i: 70_000, v: "äöüß", n: 123.5, d: "2026-01-01", j: [1, "a\0"], r: 1e300 }),
      track("m3", { i: 7, v: "äöü", n: 99.5, d: 5, j: "s", r: 2.5 }),
    ];
    expect(await open.deliver(batch, signal)).toEqual(delivered as never);
    const [, two, three] = await rowsOf(config.schema);
    expect(two).toMatchObject({
      i: null,
      i__text: "70000",
      v: null,
      v__text: "äöüß",
      n: null,
      n__text: "123.5",
      d: null,
      d__text: "2026-01-01",
      j: [1, "a"],
      r: null,
      r__text: "1e+300",
    });
    expect(three).toMatchObject({ i: 7, v: "äöü", n: 99.5, d: null, d__text: "5", j: "s", r: 2.5 });
  });

  test("columns whose values PostgreSQL makes itself get none of an event", async () => {
    const config = configOf();
    const first = await opened(config).deliver([track("m1", { a: 1 })], signal);
    expect(first).toEqual(delivered as never);
    await server.ask(`alter table ${config.schema}.tracks
      add column seq bigint generated always as identity,
      add column twice numeric generated always as (a * 2) stored`);
    const event = track("m2", { a: 2, seq: 7, twice: 9 });
    expect(await opened(config).deliver([event], signal)).toEqual(delivered as never);
    const [, row] = await rowsOf(config.schema);
    expect(row).toMatchObject({ id: "m2", a: 2, twice: 4, seq__text: "7", twice__text: "9" });
  });

  test("an event that violates a not-null column or a constraint becomes a dead letter that names it", async () => {
    const config = configOf();
    const open = opened(config);
    expect(await open.deliver([track("m1", { a: 1 })], signal)).toEqual(delivered as never);
    await server.ask(`alter table ${config.schema}.tracks add column must int default 1`);
    await server.ask(
      `alter table ${config.schema}.tracks alter must set not null, alter must drop default`,
    );
    const empty = await open.deliver([track("m2", { a: 1 })], signal);
    expect(empty.kind).toBe("rejected");
    expect((empty as { reason: string }).reason).toContain("must not be empty (column must)");
    await server.ask(
      `alter table ${config.schema}.tracks drop must, add constraint low check (a < 5)`,
    );
    const high = await open.deliver([track("m3", { a: 9 })], signal);
    expect((high as { reason: string }).reason).toContain("(constraint low)");
    expect(await open.deliver([track("m4", { a: 4 })], signal)).toEqual(delivered as never);
  });

  test("an event that needs a column that a view cannot get is refused, and others are delivered", async () => {
    const config = configOf();
    const open = opened(config);
    const { schema } = config;
    expect(await open.deliver([track("m1", { a: 1 })], signal)).toEqual(delivered as never);
    await server.ask(
      `alter table ${schema}.tracks rename to kept; create view ${schema}.tracks as select * from ${schema}.kept`,
    );
    expect(await open.deliver([track("m2", { fresh: 1 })], signal)).toMatchObject({
      kind: "rejected",
      reason: expect.stringContaining("The table can have no further columns"),
      answer: { code: "42809", body: expect.stringContaining('relation "tracks"') },
    });
    expect(await open.deliver([track("m3", { a: 3 })], signal)).toEqual(delivered as never);
    expect(await idsOf(schema)).toEqual(["m1", "m3"]);
  });

  test("a name that no table can get is a retry with its reason", async () => {
    const config = configOf();
    const { schema } = config;
    await server.ask(`create schema ${schema}; create sequence ${schema}.tracks`);
    expect(await opened(config).deliver([track("m1", {})], signal)).toMatchObject(
      retry("Expected a table or view of the name tracks") as never,
    );
  });

  test("no event is lost while a table is renamed again and again during deliveries", async () => {
    const config = configOf();
    const open = opened(config);
    const { schema } = config;
    let isOver = false;
    let renamed = 0;
    const renaming = (async () => {
      while (!isOver) {
        const name = `renamed_${renamed}`;
        const done = await server
          .ask(`alter table ${schema}.tracks rename to ${name}`)
          .then(() => true)
          .catch(() => false);
        if (done) renamed += 1;
      }
    })();
    let sent = 0;
    while (renamed < 3 || sent < 20) {
      const batch = [track(`m${sent}`, { [`p${sent}`]: 1 }), track(`n${sent}`, {})];
      let verdict = await open.deliver(batch, signal);
      while (verdict.kind === "retry") verdict = await open.deliver(batch, signal);
      expect(verdict).toEqual(delivered as never);
      sent += 1;
    }
    isOver = true;
    await renaming;
    const tables = Array.from({ length: renamed }, (_, n) => `renamed_${n}`);
    const all = tables.map((table) => `select id from ${schema}.${table}`).join(" union all ");
    const there = await server.ask(`select to_regclass('${schema}.tracks')`);
    const last = there === "" ? "" : ` union all select id from ${schema}.tracks`;
    const ids = (await server.ask(`${all}${last}`)).split("\n");
    expect(new Set(ids).size).toBe(2 * sent);
  });

  test("a foreign table without a unique id is a retry with its reason", async () => {
    const config = configOf();
    await server.ask(
      `create schema ${config.schema}; create table ${config.schema}.tracks (id text)`,
    );
    const open = opened(config);
    expect(await open.deliver([track("m1", {})], signal)).toMatchObject(
      retry("The table has no unique key for its id") as never,
    );
    await server.ask(`alter table ${config.schema}.tracks add primary key (id)`);
    expect(await open.deliver([track("m1", {})], signal)).toEqual(delivered as never);
  });

  test("missing or revoked grants are a retry with their reason", async () => {
    const config = configOf({ user: "limited", password: "limited" });
    await server.ask("create user limited password 'limited'");
    ends.push(() => server.ask(`drop schema ${config.schema} cascade; drop user limited`));
    const open = opened(config);
    expect(await open.deliver([track("m1", {})], signal)).toMatchObject(
      retry("The user lacks a grant") as never,
    );
    await server.ask(`create schema ${config.schema} authorization limited`);
    expect(await open.deliver([track("m1", { a: 1 })], signal)).toEqual(delivered as never);
    await server.ask(`revoke insert on ${config.schema}.tracks from limited`);
    expect(await open.deliver([track("m2", { a: 1 })], signal)).toMatchObject(
      retry("The user lacks a grant") as never,
    );
    await server.ask(`grant insert on ${config.schema}.tracks to limited`);
    expect(await open.deliver([track("m2", { a: 1 })], signal)).toEqual(delivered as never);
  });

  test("a property that the user may add no column for goes into `rest__json`, if the table has that", async () => {
    const config = configOf({ user: "guest", password: "guest" });
    const { schema } = config;
    await server.ask("create user guest password 'guest'");
    ends.push(() => server.ask(`drop schema ${schema} cascade; drop user guest`));
    const made = opened(configOf({ schema }));
    expect(await made.deliver([track("m1", { a: 1 })], signal)).toEqual(delivered as never);
    await server.ask(`grant usage on schema ${schema} to guest`);
    await server.ask(`grant select, insert on ${schema}.tracks to guest`);
    const open = opened(config);
    const lacking = [track("m2", { a: 2, fresh: "x" })];
    expect(await open.deliver(lacking, signal)).toMatchObject(
      retry("The user lacks a grant") as never,
    );
    await server.ask(`alter table ${schema}.tracks add column rest__json text`);
    expect(await open.deliver(lacking, signal)).toEqual(delivered as never);
    const [, row] = await rowsOf(schema);
    expect(row).toMatchObject({ id: "m2", a: 2, rest__json: '{"fresh":"x"}' });
  });

  test("a property that a table has no room for, because of dropped columns, goes into `rest__json`", async () => {
    const config = configOf();
    const first = await opened(config).deliver([track("m1", { a: 1 })], signal);
    expect(first).toEqual(delivered as never);
    const table = `${config.schema}.tracks`;
    await server.ask(`alter table ${table} add column rest__json text`);
    await server.ask(`do $$ declare
        free int := 1600 - (select max(attnum) from pg_attribute where attrelid = '${table}'::regclass);
        step text;
      begin
        foreach step in array array['add column d%s int', 'drop column d%s'] loop
          execute (select 'alter table ${table} ' || string_agg(format(step, n), ', ') from generate_series(1, free) n);
        end loop;
      end $$`);
    const second = await opened(config).deliver([track("m2", { a: 2, fresh: "x" })], signal);
    expect(second).toEqual(delivered as never);
    const [, row] = await rowsOf(config.schema);
    expect(row).toMatchObject({ id: "m2", a: 2, rest__json: '{"fresh":"x"}' });
  });

  test("a temporarily read-only server is a retry, and then gets the events", async () => {
    const config = configOf();
    const open = opened(config);
    expect(await open.deliver([track("m1", {})], signal)).toEqual(delivered as never);
    const set = (on: string) =>
      server.ask(`alter system set default_transaction_read_only = ${on}; select pg_reload_conf()`);
    const reset = async () => {
      await server.ask(
        "set default_transaction_read_only = off; alter system reset default_transaction_read_only",
      );
      await server.ask("select pg_reload_conf()");
    };
    // Deliveries of the tests after this one wait until the server takes writes.
    ends.push(reset);
    await set("on");
    let verdict = await open.deliver([track("m2", {})], signal);
    while (verdict.kind === "delivered") verdict = await open.deliver([track("m2", {})], signal);
    expect(verdict).toMatchObject(retry("The database is read-only"));
    await reset();
    while (verdict.kind !== "delivered") verdict = await open.deliver([track("m2", {})], signal);
    expect(await idsOf(config.schema)).toEqual(["m1", "m2"]);
  });

  test("the wait for a locked table is bounded", async () => {
    const config = configOf({ timeoutMs: 1_000 });
    const open = opened(config);
    let first = await open.deliver([track("m1", {})], signal);
    while (first.kind !== "delivered") first = await open.deliver([track("m1", {})], signal);
    const holding = server
      .ask(`begin; lock table ${config.schema}.tracks; select pg_sleep(600); commit`)
      .catch(() => {});
    let verdict = await open.deliver([track("m2", {})], signal);
    while (verdict.kind === "delivered") verdict = await open.deliver([track("m2", {})], signal);
    expect((verdict as { reason: string }).reason).toMatch(/did not finish in time|within 1000 ms/);
    const holder = "query like '%pg_sleep%' and pid <> pg_backend_pid()";
    await server.ask(`select pg_terminate_backend(pid) from pg_stat_activity where ${holder}`);
    await holding;
    while (verdict.kind !== "delivered") verdict = await open.deliver([track("m2", {})], signal);
    expect(await idsOf(config.schema)).toEqual(["m1", "m2"]);
  });

  test("a stalled connection is closed at the timeout and replaced", async () => {
    const proxy = new TcpProxy(server.port);
    ends.push(() => proxy.close());
    const config = configOf({ port: await proxy.listen(), timeoutMs: 2_000 });
    const open = opened(config);
    proxy.isStalled = true;
    const late = /within 2000 ms/;
    const first = await open.deliver([track("m1", {})], signal);
    expect((first as { reason: string }).reason).toMatch(late);
    proxy.isStalled = false;
    let verdict = await open.deliver([track("m1", {})], signal);
    while (verdict.kind !== "delivered") verdict = await open.deliver([track("m1", {})], signal);
    proxy.isStalled = true;
    const second = await open.deliver([track("m2", {})], signal);
    expect((second as { reason: string }).reason).toMatch(late);
    proxy.isStalled = false;
    verdict = await open.deliver([track("m2", {})], signal);
    while (verdict.kind !== "delivered") verdict = await open.deliver([track("m2", {})], signal);
    expect(await idsOf(config.schema)).toEqual(["m1", "m2"]);
  });

  test("a connection that breaks anywhere loses and duplicates no event", async () => {
    const proxy = new TcpProxy(server.port);
    ends.push(() => proxy.close());
    const config = configOf({ port: await proxy.listen() });
    const open = opened(config);
    let pieces = 0;
    let cutAt = 0;
    const cut = () => ++pieces !== cutAt;
    proxy.onSent = cut;
    proxy.onAnswered = cut;
    for (let n = 0; n < 24; n++) {
      pieces = 0;
      cutAt = (n % 12) + 1;
      const batch = [track(`m${n}`, { [`p${n}`]: 1 }), track(`n${n}`, { a: "x".repeat(5_000) })];
      let verdict = await open.deliver(batch, signal);
      cutAt = 0;
      while (verdict.kind === "retry") verdict = await open.deliver(batch, signal);
      expect(verdict).toEqual(delivered as never);
    }
    expect((await idsOf(config.schema)).length).toBe(48);
  });

  test("a server that crashes repeatedly during batches loses and duplicates no event", async () => {
    const config = configOf({ timeoutMs: 20_000 });
    const open = opened(config);
    let isOver = false;
    const dying = (async () => {
      for (let n = 0; n < 3; n++) {
        await Bun.sleep(300);
        await server.stop(n % 2 === 0 ? "SIGQUIT" : "SIGINT");
        await server.run();
      }
      isOver = true;
    })();
    let sent = 0;
    const reasons = new Set<string>();
    while (!isOver || sent < 200) {
      const batch = [0, 1, 2].map((m) => track(`m${sent}-${m}`, { sent, [`p${sent % 40}`]: m }));
      for (;;) {
        const verdict = await open.deliver(batch, signal);
        if (verdict.kind === "delivered") break;
        expect(verdict.kind).toBe("retry");
        reasons.add((verdict as { reason: string }).reason);
        await Bun.sleep(20);
      }
      sent += 1;
    }
    await dying;
    expect(
      await server.ask(`select count(*), count(distinct id) from ${config.schema}.tracks`),
    ).toBe(`${3 * sent}\t${3 * sent}`);
    expect(reasons.size).toBeGreaterThan(0);
  });

  test("batches wait while the disk of the server is full", async () => {
    const config = configOf({ batchSize: 10 });
    const open = opened(config);
    expect(await open.deliver([track("m", {})], signal)).toEqual(delivered as never);
    await server.limitFiles(2 << 20);
    // Another connection, since the limit holds for new ones.
    await open.close();
    const again = opened(config);
    // Text that does not compress, a few KB a row, beyond the limit of one file.
    const text = () => Buffer.from(crypto.getRandomValues(new Uint8Array(1_200))).toString("hex");
    let verdict = await again.deliver([track("m0", { text: text() })], signal);
    let sent = 1;
    while (verdict.kind === "delivered" && sent < 5_000) {
      const batch = Array.from({ length: 50 }, () => track(`m${sent++}`, { text: text() }));
      verdict = await again.deliver(batch, signal);
    }
    await server.limitFiles("unlimited");
    // The error of a full disk differs from the error of this limit.
    expect(verdict).toMatchObject(retry("could not extend file") as never);
    await again.close();
    const last = await opened(config).deliver([track("last", {})], signal);
    expect(last).toEqual(delivered as never);
  });
});

testWith(firstMissing(postgresMissing, mountMissing))(
  "batches wait while the disk of a tablespace is full, and none of their events is blamed",
  async () => {
    const disk = `${server.directory}/disk`;
    mkdirSync(disk);
    mountDisk(disk, 8 << 20);
    ends.push(() => unmountDisk(disk));
    const place = `${disk}/tables`;
    mkdirSync(place);
    if (process.getuid?.() === 0) chownSync(place, 65_534, 65_534);
    await server.ask(`create tablespace small location '${place}'`);
    await server.ask(
      "create user poor password 'poor'; alter user poor set default_tablespace = small",
    );
    await server.ask("grant create on tablespace small to poor");
    const config = configOf({ user: "poor", password: "poor" });
    await server.ask(`create schema ${config.schema} authorization poor`);
    const open = opened(config);
    expect(await open.deliver([track("m1", {})], signal)).toEqual({ kind: "delivered" });
    fillDisk(disk);
    const text = "x".repeat(500);
    const batches = Array.from({ length: 20 }, (_, n) =>
      Array.from({ length: 20 }, (_, m) => track(`m${n}-${m}`, { text })),
    );
    const waiting: OutgoingEvent[][] = [];
    for (const batch of batches) {
      const verdict = await open.deliver(batch, signal);
      if (verdict.kind === "delivered") continue;
      waiting.push(batch);
      // Without a scope, the failure is the destination's.
      expect(verdict).toEqual({
        kind: "retry",
        reason: expect.stringContaining("The database's disk is full"),
        answer: { code: "53100", body: expect.stringContaining("No space left on device") },
      });
    }
    expect(waiting.length).toBeGreaterThan(0);
    makeSpace(disk);
    for (const batch of waiting) {
      expect(await open.deliver(batch, signal)).toEqual({ kind: "delivered" });
    }
    const counted = `select count(*), count(distinct id) from ${config.schema}.tracks`;
    expect(await server.ask(counted)).toBe("401\t401");
    await open.close();
    await server.ask(`drop schema ${config.schema} cascade; drop tablespace small; drop user poor`);
  },
);

describeReal("a connection that a pooler shares between programs", () => {
  test("keeps no setting of a delivery", async () => {
    // The next program speaks over the connection that a delivery has used.
    let far: Socket | undefined;
    let answer: ((bytes: Buffer) => void) | undefined;
    const pooler = createServer((near) => {
      far = connect(server.port, "127.0.0.1");
      near.on("data", (piece: Buffer) => far!.write(piece));
      far.on("data", (piece: Buffer) => (answer ? answer(piece) : near.write(piece)));
    });
    ends.push(() => pooler.close());
    await new Promise<void>((resolve) => pooler.listen(0, "127.0.0.1", resolve));
    const { port } = pooler.address() as { port: number };
    const config = configOf({ port });
    const open = opened(config);
    for (const id of ["m1", "m2"]) {
      expect(await open.deliver([track(id, { [id]: 1 })], signal)).toEqual({ kind: "delivered" });
    }
    const found = new Promise<string>((resolve) => {
      let said = "";
      answer = (piece) => {
        said += piece.toString("latin1");
        if (said.endsWith("Z\0\0\0\u0005I")) resolve(said);
      };
    });
    const settings = ["lock_timeout", "statement_timeout", "timezone", "datestyle"];
    far!.write(simpleQuery(`select ${settings.map((name) => `current_setting('${name}')`)}`));
    const row = rowOf(messageOf(Buffer.from(await found, "latin1"), "D"));
    const own = await server.ask(`select ${settings.map((name) => `current_setting('${name}')`)}`);
    expect(row).toEqual(own.split("\t"));
    far!.destroy();
  });

  test("bounds the statements of a delivery", async () => {
    const config = configOf({ timeoutMs: 12_345 });
    const open = opened(config);
    expect(await open.deliver([track("m1", {})], signal)).toEqual({ kind: "delivered" });
    const shown = "concat_ws(' ', current_setting('lock_timeout'), current_setting('timezone'))";
    await server.ask(
      `alter table ${config.schema}.tracks add column s text default
        concat_ws(' ', current_setting('statement_timeout'), ${shown})`,
    );
    expect(await open.deliver([track("m2", {})], signal)).toEqual({ kind: "delivered" });
    const [, second] = await rowsOf(config.schema);
    expect(second!.s).toBe("12345ms 5s UTC");
  });
});

/** The body of the first message of a type among bytes of a server. */
function messageOf(bytes: Buffer, type: string): Buffer {
  for (const message of new PostgresMessageReader(1 << 20).read(bytes)) {
    if (message.type === type) return message.body;
  }
  throw new Error(`There is no message ${type}`);
}

describeReal("TLS to PostgreSQL", () => {
  let secure: PostgresServer;
  beforeAll(async () => {
    secure = await PostgresServer.start();
    await secure.stop("SIGINT");
    await secure.run(
      "ssl=on",
      `ssl_cert_file=${secure.directory}/cert`,
      `ssl_key_file=${secure.directory}/key`,
    );
  });
  afterAll(async () => await secure?.end());
  const tried = async (over: object) => {
    const config = { ...secure.account, host: "good.test", tlsCa: ca, ...over };
    return await opened(config).deliver([track("m", {})], signal);
  };

  test("verifies the certificate against the host or the given name", async () => {
    expect(await tried({})).toEqual({ kind: "delivered" });
    expect(await tried({ host: "127.0.0.1", tlsServerName: "good.test" })).toEqual({
      kind: "delivered",
    });
    expect(await secure.ask("select count(*) from pg_stat_ssl where ssl")).not.toBe("0");
  });

  test.each([
    ["of another name", { host: "evil.test" }],
    ["of an unknown authority", { tlsCa: undefined }],
    ["that is not for an address", { host: "127.0.0.1" }],
  ])("a certificate %s is refused before the password is sent", async (_, over) => {
    const verdict = await tried(over);
    expect(verdict.kind).toBe("retry");
    expect((verdict as { reason: string }).reason).toContain("certificate");
  });

  test("a server without TLS gets no password", async () => {
    const config = configOf({ tls: "verify" });
    const verdict = await opened(config).deliver([track("m", {})], signal);
    expect((verdict as { reason: string }).reason).toContain("does not offer TLS");
  });
});
