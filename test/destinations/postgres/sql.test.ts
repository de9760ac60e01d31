import { expect, test } from "bun:test";
import * as sql from "../../../src/destinations/postgres/sql.ts";
import type { TableColumn } from "../../../src/destinations/tables/column-values.ts";

const columns: [sqlType: string, column: Omit<TableColumn, "sqlType">][] = [
  ["text", { type: "string" }],
  ["character varying", { type: "string" }],
  ["character varying(5)", { type: "string", charsMax: 5 }],
  ["bigint", { type: "int" }],
  ["integer", { type: "int", range: [-(2 ** 31), 2 ** 31 - 1] }],
  ["smallint", { type: "int", range: [-(2 ** 15), 2 ** 15 - 1] }],
  ["numeric", { type: "float" }],
  ["numeric(4)", { type: "float", range: [-9_999, 9_999] }],
  ["numeric(4,1)", { type: "float", range: [-999.9, 999.9] }],
  ["numeric(3,5)", { type: "float", range: [-0.00999, 0.00999] }],
  ["numeric(16)", { type: "float", range: [-9_999_999_999_999_998, 9_999_999_999_999_998] }],
  ["numeric(18,2)", { type: "float", range: [-9_999_999_999_999_998, 9_999_999_999_999_998] }],
  ["double precision", { type: "float" }],
  ["real", { type: "float", isSingle: true }],
  ["boolean", { type: "boolean" }],
  ["timestamp with time zone", { type: "datetime" }],
  ["timestamp(3) without time zone", { type: "datetime" }],
  ["json", { type: "json" }],
  ["jsonb", { type: "json" }],
  ["time with time zone", { type: "other" }],
  ["text[]", { type: "other" }],
  ["uuid", { type: "other" }],
];
test.each(columns)("a column of the type %s is described", (sqlType, column) => {
  expect(sql.columnOf(sqlType, false)).toEqual({ ...column, sqlType });
  expect(sql.columnOf(sqlType, true)).toEqual({ type: "other", sqlType });
});

const types = { id: "string", n: "int", 'a "b"': "json" } as const;

test("a table is created with its key, and gets further columns", () => {
  const made = new Map(Object.entries(types));
  expect(sql.createTable(sql.qualified("s", "t"), "id", made)).toBe(
    'create table "s"."t" ("id" text primary key, "n" bigint, "a ""b""" jsonb)',
  );
  expect(sql.addColumns(sql.qualified("s", "t"), made)).toBe(
    'alter table "s"."t" add column if not exists "id" text, ' +
      'add column if not exists "n" bigint, add column if not exists "a ""b""" jsonb',
  );
});

test("a table is marked by its comment", () => {
  expect(sql.markTable(sql.qualified("s", 't"'), "mark")).toBe(
    'comment on table "s"."t""" is \'mark\'',
  );
});

test("a connection test creates a schema only if there is none, and rolls everything back", () => {
  const rest =
    ' create table "s"."pixelmill_connection_test" (id text primary key); ' +
    'insert into "s"."pixelmill_connection_test" values (\'test\'); rollback';
  expect(sql.testStatements("s", true, "set")).toBe(`begin; set; ${rest}`);
  expect(sql.testStatements("s", false, "set")).toBe(`begin; set; create schema "s";${rest}`);
});

test("records are inserted with the given columns, and merged only where this is asked for", () => {
  const described = new Map(
    [...Object.entries({ id: "text", j: "jsonb", received_at: "timestamp with time zone" })].map(
      ([name, sqlType]) => [name, sql.columnOf(sqlType, false)] as const,
    ),
  );
  const load = (record: Record<string, string>, isMerged = false) => {
    const columns = new Map([...described].filter(([name]) => name in record));
    return sql.insertRows(sql.qualified("s", "t"), { columns, isMerged }, "id");
  };
  expect(load({ id: "1", j: "{}" })).toBe(
    'insert into "s"."t" as t ("id", "j") select r."id", r."j"::jsonb ' +
      'from json_to_recordset($1::json) as r("id" text, "j" text) on conflict ("id") do nothing',
  );
  expect(load({ id: "1", received_at: "x" })).toContain(
    ') select r."id", r."received_at" from json_to_recordset($1::json) as ' +
      'r("id" text, "received_at" timestamp with time zone) ',
  );
  expect(load({ id: "1" }, true)).toEndWith('on conflict ("id") do nothing');
  expect(load({ id: "1", j: "{}" }, true)).toEndWith(
    'do update set "j" = case when true then coalesce(excluded."j", t."j") ' +
      'else coalesce(t."j", excluded."j") end',
  );
  expect(load({ id: "1", j: "{}", received_at: "x" }, true)).toContain(
    '"j" = case when excluded.received_at < t.received_at is not true then ',
  );
});
