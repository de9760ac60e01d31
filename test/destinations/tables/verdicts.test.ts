import { describe, expect, test } from "bun:test";
import { failureOf as clickhouseFailureOf } from "../../../src/destinations/clickhouse/failures.ts";
import { failureOf } from "../../../src/destinations/postgres/failures.ts";
import { PostgresError } from "../../../src/destinations/postgres/postgres-session.ts";
import type { DatabaseFailure } from "../../../src/destinations/tables/table-database.ts";

const postgresKindOf = (code: string) => {
  const fields = new Map(Object.entries({ C: code, M: "text" }));
  return (failureOf(new PostgresError(fields)) as DatabaseFailure).kind;
};
const clickhouseKindOf = (code: number) => {
  const headers = { "x-clickhouse-exception-code": String(code) };
  const body = Buffer.from(`Code: ${code}. DB::Exception: text.`);
  return clickhouseFailureOf({ status: 500, headers, body } as never)!.kind;
};

describe("an error of PostgreSQL", () => {
  // Names, values and sizes, which an event gives to the statement.
  test.each([
    ...["21000", "22001", "22003", "22007", "22008", "22021", "22P02", "22P05", "22030", "2200H"],
    ...["23502", "23503", "23505", "23514", "23P01", "44000", "P0001"],
    ...["42602", "42611", "42622", "42701", "42702", "42712", "42809", "42939", "42P16"],
    ...["54000", "54001", "54011", "54023"],
  ])("%s is a verdict on the event", (code) => expect(postgresKindOf(code)).toBe("refused"));

  // The server, the account, or the tables as somebody defined them.
  test.each([
    ...["08006", "0A000", "25006", "25P02", "26000", "28P01", "28000", "3D000", "3F000", "40001"],
    ...[
      "40P01",
      "42501",
      "42601",
      "42P01",
      "42703",
      "42704",
      "42804",
      "42846",
      "42883",
      "42P07",
      "42P10",
    ],
    ...["53000", "53100", "53200", "53300", "55000", "55P03", "57014", "57P01", "57P03", "58030"],
    ...["F0000", "HV000", "XX000", "XX001", ""],
  ])("%s does not reject the events", (code) => expect(postgresKindOf(code)).toBe("later"));
});

describe("an error of ClickHouse", () => {
  test.each([
    ...[6, 25, 26, 27, 33, 38, 41, 53, 69, 70, 72, 117, 321, 376, 407, 467, 632, 691],
    ...[15, 44, 52, 131, 161, 168, 229, 248, 349, 395, 469, 565, 703],
  ])("%d is a verdict on the event", (code) => expect(clickhouseKindOf(code)).toBe("refused"));

  test.each([
    ...[
      3, 16, 36, 47, 48, 49, 57, 60, 62, 81, 159, 164, 173, 192, 193, 201, 202, 209, 210, 225, 236,
    ],
    ...[241, 242, 243, 252, 285, 290, 319, 394, 497, 499, 516, 571, 692, 745, 999, 1000, 1001],
  ])("%d does not reject the events", (code) => expect(clickhouseKindOf(code)).toBe("later"));
});
