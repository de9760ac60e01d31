import { expect, test } from "bun:test";
import { FormatRegistry, Type } from "@sinclair/typebox";
import { answerOf, isoTime, Time } from "../../../src/api/schema/common.ts";
import { expectedFormat } from "../../../src/api/schema/formats.ts";
import { CODE_BYTES_MAX, NAME_CHARS_MAX } from "../../../src/settings/limits.ts";

const fits = (format: string, text: string) => FormatRegistry.Get(format)!(text);

const table: [format: string, fitting: string[], others: string[]][] = [
  ["name", ["a", " a ", "a".repeat(NAME_CHARS_MAX)], ["", "  ", "a".repeat(NAME_CHARS_MAX + 1)]],
  [
    "code",
    ["", "a".repeat(CODE_BYTES_MAX), "é".repeat(CODE_BYTES_MAX / 2)],
    ["a".repeat(CODE_BYTES_MAX + 1), `${"é".repeat(CODE_BYTES_MAX / 2)}a`],
  ],
  [
    "date-time",
    [
      ...["2026-02-16T01:11:11Z", "2026-02-16T01:11:11.586Z", "2026-02-16T01:11Z"],
      ...["2026-02-16T01:11:11.123456789Z", "2026-02-16T01:11:11+02:00", "2026-02-16T01:11-11:30"],
    ],
    [
      ...["", "2026-02-16", "2026-02-16T01:11:11", "2026-02-16 01:11:11Z", "yesterday"],
      ...["2026-13-16T01:11:11Z", "2026-02-16T25:11:11Z", "2026-02-16T01:11:11.Z"],
      ...["x2026-02-16T01:11:11Z", "2026-02-16T01:11:11Zx", "2026-02-16T01:11:11.1234567890Z"],
    ],
  ],
  [
    "source-type",
    ["http", "Javascript", "Cloud source 2.0_a-b", "a".repeat(64)],
    ["", "2http", " http", "a/b", "a".repeat(65)],
  ],
  [
    "origin",
    ["https://example.com", "https://*.example.com", "http://localhost:3000"],
    ["example.com", "https://example.com/", "https://example.com/path", ""],
  ],
  ["email", ["ada@example.com", "a@b"], ["", "ada", "@b", "a@", "a b@c", "a@b@c", "a@b\n"]],
];
test.each(table)(
  "texts of the format %s fit it, and other texts do not",
  (format, fitting, others) => {
    expect(fitting.filter((text) => !fits(format, text))).toEqual([]);
    expect(others.filter((text) => fits(format, text))).toEqual([]);
    expect(expectedFormat(format)).toBeString();
  },
);

test("a format that the API does not know has no words", () => {
  expect(expectedFormat("uuid")).toBeUndefined();
});

test("an answer has the fields of its schema that have a value, and times as texts", () => {
  const schema = Type.Object({
    ...{ id: Type.String(), count: Type.Integer(), at: Time, endedAt: Type.Optional(Time) },
    note: Type.Optional(Type.String()),
  });
  const item = { id: "a", count: 5, at: 5, note: undefined, secret: "s" };
  const shown = { id: "a", count: 5, at: "1970-01-01T00:00:00.005Z" };
  expect(answerOf(schema, item) as object).toStrictEqual(shown);
  const ended = { ...item, endedAt: isoTime(6), valueOf: 1 };
  expect(answerOf(schema, ended as typeof item) as object).toStrictEqual({
    ...{ ...shown, endedAt: "1970-01-01T00:00:00.006Z" },
  });
});
