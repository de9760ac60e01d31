import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { clickhouseKind } from "../../../src/destinations/clickhouse/clickhouse.ts";
import type { DestinationKind } from "../../../src/destinations/destination.ts";
import { postgresKind } from "../../../src/destinations/postgres/postgres.ts";
import { TABLES_OF_DESTINATION_MAX } from "../../../src/destinations/tables/limits.ts";
import { createEgress } from "../../../src/egress/egress.ts";
import { describeWith } from "../../counterpart.ts";
import { clickhouseMissing } from "../clickhouse/clickhouse-server.ts";
import { withDatabases } from "../databases.ts";
import { outgoing } from "../outgoing.ts";
import { postgresMissing } from "../postgres/postgres-server.ts";

setDefaultTimeout(300_000);

const databases = withDatabases();
const egress = createEgress({ allow: ["127.0.0.0/8"] });
const { signal } = new AbortController();
const delivered = { kind: "delivered" } as const;
let schemas = 0;

/** A database and a destination that writes to a schema of its own in it. */
interface Target {
  schema: string;
  ask(sql: string): Promise<string>;
  rows(query: string): Promise<Record<string, unknown>[]>;
  deliver(...events: object[]): Promise<object>;
  close(): Promise<void>;
}

const targets = {
  PostgreSQL: {
    missing: postgresMissing,
    async open(over: object = {}): Promise<Target> {
      schemas += 1;
      const schema = `h${schemas}`;
      await databases.postgres!.ask(`create schema ${schema}`);
      const config = { ...databases.postgres!.account, tls: "off" as const, schema, ...over };
      const open = postgresKind(egress).open(config, "workspace");
      return {
        schema,
        ask: (sql) => databases.postgres!.ask(sql),
        rows: (query) => databases.postgres!.rows(query),
        deliver: (...events) =>
          open.deliver(
            events.map((event) => outgoing(event)),
            signal,
          ),
        close: () => open.close(),
      };
    },
  },
  ClickHouse: {
    missing: clickhouseMissing,
    async open(over: object = {}): Promise<Target> {
      schemas += 1;
      const schema = `h${schemas}`;
      await databases.clickhouse!.ask(`create database ${schema}`);
      const open = clickhouseKind(egress).open(
        { ...databases.clickhouse!.account, database: schema, ...over },
        "workspace",
      );
      return {
        schema,
        ask: (sql) => databases.clickhouse!.ask(sql),
        rows: (query) => databases.clickhouse!.rows(query),
        deliver: (...events) =>
          open.deliver(
            events.map((event) => outgoing(event)),
            signal,
          ),
        close: () => open.close(),
      };
    },
  },
};

const track = (messageId: string, properties: object, event = "Test Made") => ({
  type: "track",
  event,
  messageId,
  receivedAt: "2026-01-02T03:04:05.678Z",
  properties,
});

/** The names of columns that the server itself gives to every table. */
const systemColumns = {
  PostgreSQL: `select attname from pg_attribute
    where attrelid = 'pg_class'::regclass and attnum < 0 order by 1`,
  ClickHouse: "describe table SCHEMA.probe settings describe_include_virtual_columns = 1",
};

describe.each(["PostgreSQL", "ClickHouse"] as const)("%s", (database) => {
  const { missing, open } = targets[database];
  describeWith(missing)("under hostile events", () => {
    test(`properties named as ${database}'s own columns are stored as text beside them`, async () => {
      const { schema, ask, rows, deliver, close } = await open();
      if (database === "ClickHouse") {
        const key = "order by id";
        await ask(`create table ${schema}.probe (id String) engine = ReplacingMergeTree ${key}`);
      }
      const listed = await ask(systemColumns[database].replace("SCHEMA", schema));
      const names = listed
        .split("\n")
        .map((line) => line.split("\t")[0]!)
        .filter((name) => name !== "id");
      const known = { PostgreSQL: "xmin", ClickHouse: "_block_number" }[database];
      expect(names).toContain(known);
      const hostile = Object.fromEntries(names.map((name, n) => [name, n]));
      // In a new table, and in a known one, beside another event.
      for (const id of ["m1", "m2"]) {
        const batch = [track(id, { ...hostile, good: 1 }), track(`${id}b`, { good: 2 })];
        expect(await deliver(...batch)).toEqual(delivered);
      }
      const stored = await rows(`select * from ${schema}.tracks order by id`);
      expect(stored.map(({ id }) => id)).toEqual(["m1", "m1b", "m2", "m2b"]);
      const texts = Object.fromEntries(names.map((name, n) => [`${name}__text`, String(n)]));
      expect(stored[0]).toMatchObject({ ...texts, good: 1 });
      expect(stored[2]).toMatchObject({ ...texts, good: 1 });
      await close();
    });

    test("an event whose name is a table that pixelmill did not create goes into `tracks` alone", async () => {
      const { schema, ask, rows, deliver, close } = await open({ eventTables: true });
      const others: Record<string, string[]> = {
        PostgreSQL: [
          `create table ${schema}.orders (id text primary key, total int)`,
          `create table ${schema}.bills (id text primary key, received_at timestamptz, event text)`,
          `create view ${schema}.report as select id, total from ${schema}.orders`,
          `create materialized view ${schema}.daily as select id from ${schema}.orders`,
          `create sequence ${schema}.counter`,
          `create index lookup on ${schema}.orders (total)`,
          `create type ${schema}.status as enum ('on', 'off')`,
          `create extension if not exists postgres_fdw`,
          `create server if not exists elsewhere foreign data wrapper postgres_fdw`,
          `create foreign table ${schema}.ledger (id text, total int) server elsewhere`,
        ],
        ClickHouse: [
          `create table ${schema}.orders (id String, total Int64) engine = MergeTree order by id`,
          `create table ${schema}.bills (id String, event String) engine = ReplacingMergeTree order by id`,
          `create view ${schema}.report as select id, total from ${schema}.orders`,
          `create table ${schema}.ledger (id String, total Int64) engine = Null`,
        ],
      };
      for (const statement of others[database]!) await ask(statement);
      const names = ["Orders", "bills", "report", "ledger"];
      if (database === "PostgreSQL") names.push("daily", "counter", "lookup", "Status");
      const events = names.map((name) => track(name, { total: -5 }, name));
      expect(await deliver(...events, track("own", { total: 1 }, "Own"))).toEqual(delivered);
      // With the tables in the cache, too.
      const more = names.map((name) => track(`${name}2`, { total: -6 }, name));
      expect(await deliver(...more)).toEqual(delivered);
      for (const table of ["orders", "bills", "report"]) {
        expect(await ask(`select count(*) from ${schema}.${table}`)).toBe("0");
      }
      const columns = `select count(*) from information_schema.columns
        where table_schema = '${schema}' and table_name in ('orders', 'bills', 'report', 'ledger')`;
      expect(await ask(columns)).toBe(database === "PostgreSQL" ? "9" : "8");
      const tracks = await rows(`select id, event, total from ${schema}.tracks where total < 0`);
      expect(tracks.map(({ id }) => id).sort()).toEqual(
        [...names, ...names.map((name) => `${name}2`)].sort(),
      );
      expect(await rows(`select id, total from ${schema}.own`)).toEqual([{ id: "own", total: 1 }]);
      await close();
    });

    test("a view with `rest__json` gets the values there that have no column", async () => {
      const { schema, ask, rows, deliver, close } = await open();
      // ClickHouse inserts into no view; an engine with fixed columns takes its place.
      expect(await deliver(track("m1", { a: 1, A: 2 }))).toEqual(delivered);
      if (database === "PostgreSQL") {
        await ask(`alter table ${schema}.tracks rename to kept`);
        await ask(`create view ${schema}.tracks as select * from ${schema}.kept`);
      } else {
        await ask(`rename table ${schema}.tracks to ${schema}.kept`);
        await ask(`create table ${schema}.tracks as ${schema}.kept engine = StripeLog`);
      }
      for (let n = 2; n < 5; n++) {
        const batch = [track(`m${n}`, { a: n, [`fresh${n}`]: n }), track(`n${n}`, { a: n })];
        expect(await deliver(...batch)).toEqual(delivered);
      }
      const found = await rows(
        `select id, a, rest__json from ${schema}.tracks where id in ('m2', 'm4', 'n4') order by id`,
      );
      expect(found).toEqual([
        { id: "m2", a: 2, rest__json: '{"fresh_2":2}' },
        { id: "m4", a: 4, rest__json: '{"fresh_4":4}' },
        expect.objectContaining({ id: "n4", a: 4 }),
      ]);
      await close();
    });

    test("names of events beyond the tables of a schema go into `tracks` alone", async () => {
      const { schema, ask, rows, deliver, close } = await open({ eventTables: true });
      expect(await deliver(track("m0", { a: 0 }, "opened"))).toEqual(delivered);
      const engine = database === "PostgreSQL" ? "(n int)" : "(n Int8) engine = Memory";
      const left = TABLES_OF_DESTINATION_MAX - 3;
      const create = (n: number) => `create table ${schema}.t${n} ${engine}`;
      if (database === "PostgreSQL") {
        await ask(Array.from({ length: left }, (_, n) => create(n)).join("; "));
      } else for (let n = 0; n < left; n++) await ask(create(n));
      await close();

      const again = database === "PostgreSQL" ? postgresKind(egress) : clickhouseKind(egress);
      const account =
        database === "PostgreSQL" ? databases.postgres!.account : databases.clickhouse!.account;
      const place = database === "PostgreSQL" ? { schema, tls: "off" } : { database: schema };
      const config = { ...account, ...place, eventTables: true };
      const opened = (again as DestinationKind).open(config, "workspace");
      const events = ["opened", "ended", "beyond", "further"].map((name, n) =>
        outgoing(track(`m${n + 1}`, { a: n + 1 }, name)),
      );
      expect(await opened.deliver(events, signal)).toEqual(delivered);
      expect(await rows(`select id, a from ${schema}.opened order by id`)).toEqual([
        { id: "m0", a: 0 },
        { id: "m1", a: 1 },
      ]);
      expect(await rows(`select id, a from ${schema}.ended`)).toEqual([{ id: "m2", a: 2 }]);
      expect(
        await rows(`select id, a from ${schema}.tracks where a is not null order by id`),
      ).toEqual([
        { id: "m3", a: 3 },
        { id: "m4", a: 4 },
      ]);
      await opened.close();
    });

    test("a table of an event is used as pixelmill's own by its mark, or by its key and columns", async () => {
      const { schema, ask, rows, deliver, close } = await open({ eventTables: true });
      const unmark = (table: string, mark: string) =>
        database === "PostgreSQL"
          ? `comment on table ${schema}.${table} is '${mark}'`
          : `alter table ${schema}.${table} modify comment '${mark}'`;
      expect(await deliver(track("m1", { a: 1 }, "older"))).toEqual(delivered);
      expect(await deliver(track("m1", { a: 1 }, "stripped"))).toEqual(delivered);
      await close();
      // A table of an earlier version has no mark; one with a mark may have lost columns.
      await ask(unmark("older", ""));
      await ask(`alter table ${schema}.stripped drop column event_text`);
      const plain = database === "PostgreSQL" ? "" : "engine = MergeTree order by id";
      const type = database === "PostgreSQL" ? "text primary key" : "String";
      await ask(`create table ${schema}.given (id ${type}) ${plain}`);
      await ask(unmark("given", "pixelmill writes here"));

      const again = await (database === "PostgreSQL"
        ? postgresKind(egress).open(
            { ...databases.postgres!.account, tls: "off", schema, eventTables: true },
            "workspace",
          )
        : clickhouseKind(egress).open(
            { ...databases.clickhouse!.account, database: schema, eventTables: true },
            "workspace",
          ));
      const names = ["older", "stripped", "given"];
      const events = names.map((name) => outgoing(track("m2", { a: 2 }, name)));
      expect(await again.deliver(events, signal)).toEqual(delivered);
      for (const name of names) {
        const found = await rows(`select id, a from ${schema}.${name} where id = 'm2'`);
        expect([name, found]).toEqual([name, [{ id: "m2", a: 2 }]]);
      }
      await again.close();
    });

    test("texts without a zone, of any precision, are stored as they are in UTC", async () => {
      const { schema, ask, rows, deliver, close } = await open();
      const texts = {
        bare: "2026-02-16T10:00:00",
        space: "2026-02-16 10:00",
        day: "2026-02-16",
        zone: "2026-02-16T12:00:00+02",
        fine: "2026-02-16T10:00:00.123456Z",
        before: "-2026-01-01",
      };
      expect(await deliver(track("m1", texts))).toEqual(delivered);
      if (database === "ClickHouse") {
        await ask(`alter table ${schema}.tracks modify column fine Nullable(DateTime64(6, 'UTC'))`);
      }
      expect(await deliver(track("m2", texts))).toEqual(delivered);
      const found = await rows(`select * from ${schema}.tracks where id = 'm2'`);
      const shown = (text: string) =>
        database === "PostgreSQL" ? `${text.replace(" ", "T").replace(/\.0+$/, "")}+00:00` : text;
      expect(found[0]).toMatchObject({
        bare: shown("2026-02-16 10:00:00.000"),
        space: shown("2026-02-16 10:00:00.000"),
        day: shown("2026-02-16 00:00:00.000"),
        zone: shown("2026-02-16 10:00:00.000"),
        fine: shown("2026-02-16 10:00:00.123456"),
        before: "-2026-01-01",
      });
      await close();
    });

    test("ids that differ only by what cannot be stored make rows of their own", async () => {
      const { schema, rows, deliver, close } = await open();
      const ids = ["dup", "dup\0", "dup\0\0", "\ud800", "\ud801", "\ufffd"];
      const batch = ids.map((id, n) => track(id, { n }));
      expect(await deliver(...batch)).toEqual(delivered);
      expect(await deliver(...batch)).toEqual(delivered);
      const found = await rows(
        `select n, min(id) as id from ${schema}.tracks group by n order by n`,
      );
      expect(found.map(({ n }) => n)).toEqual([0, 1, 2, 3, 4, 5]);
      expect(found[0]!.id).toBe("dup");
      expect(new Set(found.map(({ id }) => id)).size).toBe(ids.length);
      await close();
    });

    test("arrays in text columns are JSON that the database itself reads", async () => {
      const { schema, ask, rows, deliver, close } = await open();
      const list = ["a\0b", "\ud800", "\\u0000", { "k\0": 1 }];
      expect(await deliver(track("m1", { list }))).toEqual(delivered);
      const [row] = await rows(`select list from ${schema}.tracks`);
      expect(JSON.parse(row!.list as string)).toEqual(["ab", "\ufffd", "\\u0000", { k: 1 }]);
      if (database === "PostgreSQL") {
        expect(await ask(`select list::jsonb->>0 from ${schema}.tracks`)).toBe("ab");
      }
      await close();
    });

    test("a number that 32 bits cannot hold goes into the text column", async () => {
      const { schema, ask, rows, deliver, close } = await open();
      const single = database === "PostgreSQL" ? "real" : "Nullable(Float32)";
      expect(await deliver(track("m0", { other: 1 }))).toEqual(delivered);
      await ask(`alter table ${schema}.tracks add column f ${single}`);
      const values = [1e-46, -1e-46, 1e39, 0, 1.5];
      expect(await deliver(...values.map((f, n) => track(`m${n + 1}`, { f })))).toEqual(delivered);
      const found = await rows(
        `select id, f, f__text from ${schema}.tracks where id <> 'm0' order by id`,
      );
      expect(found.map(({ f, f__text }) => f ?? f__text)).toEqual([
        "1e-46",
        "-1e-46",
        "1e+39",
        0,
        1.5,
      ]);
      await close();
    });
  });
});
