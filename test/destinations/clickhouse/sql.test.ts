import { expect, test } from "bun:test";
import * as sql from "../../../src/destinations/clickhouse/sql.ts";

test("names and texts cannot end their quotes", () => {
  expect(sql.quoted("a`b\\c")).toBe("`a\\`b\\\\c`");
  expect(sql.tableCountQuery("a'b\\c")).toEndWith("where database = 'a\\'b\\\\c'");
  expect(sql.tableQuery("d'", "t'")).toEndWith(
    "where database = 'd\\'' and name = 't\\'' format JSONCompactEachRow",
  );
});

test("virtual columns are asked for only by a setting that old servers lack", () => {
  const plain = "describe table t format JSONCompactEachRow";
  expect(sql.columnsQuery("t", false)).toBe(plain);
  const settings = "settings describe_include_virtual_columns = 1";
  expect(sql.columnsQuery("t", true)).toBe(`${plain} ${settings}`);
});

test.each([
  ["String", { type: "string" }],
  ["LowCardinality(Nullable(String))", { type: "string" }],
  ["SimpleAggregateFunction(anyLast, Nullable(Bool))", { type: "boolean" }],
  ["UInt8", { type: "int", range: [0, 255] }],
  ["Int16", { type: "int", range: [-32_768, 32_767] }],
  ["Int128", { type: "other" }],
  ["DateTime('UTC')", { type: "datetime", range: [0, 4_294_967_295_000] }],
  [
    "Nullable(DateTime64(3))",
    { type: "datetime", range: [Date.UTC(1900, 0, 1), Date.UTC(2262, 0, 1)] },
  ],
  ["Date", { type: "other" }],
  ["Float64", { type: "float" }],
  ["Float32", { type: "float", isSingle: true }],
] as const)("a column of type %s takes values of its own range", (sqlType, column) => {
  expect(sql.columnOf(sqlType, "")).toEqual({ ...column, sqlType } as never);
  for (const kind of ["MATERIALIZED", "ALIAS"]) {
    expect(sql.columnOf(sqlType, kind)).toEqual({ type: "other", sqlType });
  }
  expect(sql.columnOf(sqlType, "DEFAULT")).toEqual({ ...column, sqlType } as never);
  expect(sql.columnOf(sqlType, "", true)).toEqual({ type: "other", sqlType });
});

test("a table has its own key only with the engine and the order that events are given", () => {
  expect(sql.hasOwnKey("ReplacingMergeTree", "received_at, id")).toBe(true);
  expect(sql.hasOwnKey("ReplacingMergeTree", "id")).toBe(false);
  expect(sql.hasOwnKey("Log", "received_at, id")).toBe(false);
});

test("a table of events and one of users are made and widened with their own types", () => {
  const columns = new Map([
    ["id", "string"],
    ["n", "int"],
  ] as const);
  expect(sql.createTable("t", "id", columns, false)).toStartWith(
    "create table if not exists t (`id` String, `n` Nullable(Int64), `received_at` DateTime64(3, 'UTC')) " +
      "engine = ReplacingMergeTree order by (received_at, `id`) " +
      "settings non_replicated_deduplication_window = 1000 comment '",
  );
  const latest = "SimpleAggregateFunction(anyLast, Nullable(Int64))";
  expect(sql.createTable("t", "id", columns, true)).toStartWith(
    `create table if not exists t (\`id\` String, \`n\` ${latest}) ` +
      "engine = AggregatingMergeTree order by `id` settings ",
  );
  const more = new Map([["n", "int"]] as const);
  const widened = "alter table t add column if not exists `n`";
  expect(sql.addColumns("t", more, false)).toBe(`${widened} Nullable(Int64)`);
  expect(sql.addColumns("t", more, true)).toBe(`${widened} ${latest}`);
});

test("an insert names the given columns, and its own token", () => {
  const columns = new Map(["a", "c"].map((name) => [name, { type: "string", sqlType: "" }]));
  const insert = (records: object[], salt = "") =>
    Buffer.from(sql.insertRows("t", { columns, records } as never, salt)).toString();
  const text = insert([{ c: "1" }, { a: "2" }]);
  expect(text).toStartWith("insert into t (`a`, `c`) settings insert_deduplication_token = '");
  expect(text).toEndWith('format JSONEachRow\n{"c":"1"},{"a":"2"}');
  const tokenOf = (it: string) => /token = '([0-9a-f]{64})'/.exec(it)![1];
  expect(tokenOf(insert([{ c: "1" }, { a: "2" }]))).toBe(tokenOf(text)!);
  expect(tokenOf(insert([{ c: "1" }]))).not.toBe(tokenOf(text)!);
  expect(tokenOf(insert([{ c: "1" }, { a: "2" }], "x"))).not.toBe(tokenOf(text)!);
});
