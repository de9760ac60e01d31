import { describe, expect, test } from "bun:test";
import { failureOf as clickhouseFailureOf } from "../../../src/destinations/clickhouse/failures.ts";
import { failureOf } from "../../../src/destinations/postgres/failures.ts";
import { PostgresError } from "../../../src/destinations/postgres/postgres-session.ts";
import { rowOf } from "../../../src/destinations/postgres/protocol.ts";
import type { DatabaseFailure } from "../../../src/destinations/tables/table-database.ts";

const postgresKindOf = (code: string) => {
  const fields = new Map(Object.entries({ C: code, M: "text" }));
  return (failureOf(new PostgresError(fields)) as DatabaseFailure).kind;
};
describe("an error of PostgreSQL", () => {
  // Names, values and sizes, which an event gives to the statement.
  test.each([
    ...["21000", "22001", "22003", "22007", "22008", "22021", "22P02", "22P05", "22030", "2200H"],
    ...["23502", "23503", "23505", "23514", "23P01", "44000", "P0001"],
    ...["42602", "42611", "42622", "42701", "42702", "42712", "42809", "42939", "42P16"],
    ...["54000", "54001", "54011", "54023"],
  ])("%s is a verdict on the event", (code) => expect(postgresKindOf(code)).toBe("refused"));

  // The server, the account, or the tables as users defined them.
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

describe("an error of the network to PostgreSQL", () => {
  test.each([
    ["CERT_HAS_EXPIRED", "expired"],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "self-signed"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "of another host"],
    ["CERT_REVOKED", "not valid"],
  ])("%s is about the certificate", (code, fault) => {
    const failure = failureOf(Object.assign(new Error("x"), { code })) as DatabaseFailure;
    const message = `The database's certificate is not accepted: ${fault} (${code})`;
    expect([failure.kind, failure.message]).toEqual(["later", message]);
  });

  test("of another kind has its code, or else its own message", () => {
    const messageOf = (more: object) =>
      (failureOf(Object.assign(new Error("own"), more)) as DatabaseFailure).message;
    expect(messageOf({ code: "ECONNRESET" })).toBe(
      "The connection to the database failed: connection reset by peer (ECONNRESET)",
    );
    expect(messageOf({})).toBe("own");
    expect(failureOf("text")).toBe("text");
  });
});

test("an error of PostgreSQL with any text as its code has a sentence", () => {
  for (const code of ["constructor", "__proto__", ""]) {
    const failure = failureOf(new PostgresError(new Map(Object.entries({ C: code, M: "text" }))));
    expect((failure as DatabaseFailure).message).toBe(`The database refuses: text (${code})`);
  }
});

test("a row of PostgreSQL has a text or null for each column", () => {
  const int = (bytes: number, value: number) => {
    const buffer = Buffer.alloc(bytes);
    buffer.writeIntBE(value, 0, bytes);
    return buffer;
  };
  const row = [int(2, 3), int(4, 2), Buffer.from("ab"), int(4, -1), int(4, 1), Buffer.from("c")];
  expect(rowOf(Buffer.concat(row))).toEqual(["ab", null, "c"]);
  expect(rowOf(Buffer.concat([int(2, 1), int(4, 0)]))).toEqual([""]);
  expect(() => rowOf(Buffer.concat([int(2, 1), int(4, 2), Buffer.from("a")]))).toThrow();
});

describe("an error of ClickHouse", () => {
  const failureOf = (code: number) =>
    clickhouseFailureOf({
      ...{ status: 500, headers: { "x-clickhouse-exception-code": String(code) } },
      body: Buffer.from(`Code: ${code}. DB::Exception: text.\nmore`),
    } as never)!;
  const codes = Array.from({ length: 1_100 }, (_, code) => code);

  test("stops the whole destination only where its cause is the server or the account", () => {
    const found = codes.filter((code) => failureOf(code).scope === "destination");
    expect(found).toEqual([
      ...[60, 81, 159, 164, 192, 193, 194, 195, 202, 209, 210, 225, 236, 241, 242, 243, 252, 285],
      ...[319, 394, 439, 516, 745, 999],
    ]);
  });

  test("is final for the event where names, values or sizes cause it", () => {
    expect(codes.filter((code) => failureOf(code).kind === "refused")).toEqual([
      ...[6, 15, 25, 26, 27, 33, 38, 41, 44, 52, 53, 69, 70, 72, 117, 128, 130, 131, 161, 167],
      ...[168, 207, 229, 248, 306, 321, 346, 349, 352, 376, 395, 407, 441, 467, 469, 524, 565],
      ...[621, 632, 645, 675, 676, 691, 703, 760],
    ]);
  });

  test("makes the columns be read again where another program may have changed them", () => {
    const more = codes.filter((code) => {
      const { isStale, kind } = failureOf(code);
      return isStale && kind !== "refused";
    });
    expect(more).toEqual([8, 16, 36, 47, 60, 81]);
    expect(codes.filter((code) => failureOf(code).isFixed)).toEqual([48, 497]);
  });

  test.each([
    [516, "The database does not accept the user or the password"],
    [192, "The database does not know the user"],
    [193, "The database does not accept the password"],
    [194, "The database wants a password"],
    [195, "The database does not let this address in"],
    [497, "The user lacks a grant"],
    [164, "The user may only read"],
    [242, "The table is read-only"],
    [243, "The database's disk is full"],
    [241, "The database has too little memory"],
    [252, "The table has too many parts to merge"],
    [159, "The database did not finish in time"],
    [202, "The database has too many queries"],
    [60, "There is no such table"],
    [81, "There is no such database"],
    [44, "The database reserves the name of a column"],
    [7, "The database refuses"],
  ])("%i is explained", (code, meaning) => {
    expect(failureOf(code).message).toBe(`${meaning}: text (${code})`);
  });

  test("without a code has the status, and a long message is cut", () => {
    const answer = { headers: {}, body: Buffer.from("x") };
    const failure = clickhouseFailureOf({ ...answer, status: 502 } as never)!;
    expect([failure.kind, failure.message]).toEqual(["later", "The server answered 502"]);
    for (const status of [200, 299]) {
      expect(clickhouseFailureOf({ ...answer, status } as never)).toBeUndefined();
    }
    for (const status of [199, 300]) {
      expect(clickhouseFailureOf({ ...answer, status } as never)).toBeDefined();
    }
    const long = Buffer.from(`Code: 62. DB::Exception: ${"x".repeat(2_000)}`);
    const { message } = clickhouseFailureOf({ status: 200, headers: {}, body: long } as never)!;
    expect(message).toBe(`The database refuses: ${"x".repeat(275)} (62)`);
  });
});
