import { expect, test } from "bun:test";
import {
  cleanText,
  fit,
  JsonText,
  type TableColumn,
  textOf,
  typeOf,
} from "../../../src/destinations/tables/column-values.ts";

const column = (type: TableColumn["type"], more: Partial<TableColumn> = {}): TableColumn => ({
  ...{ type, sqlType: type },
  ...more,
});

test("a time has at most 64 characters", () => {
  const time = (digits: number) => `2026-01-02T03:04:05.${"1".repeat(digits)}`;
  expect([typeOf(time(44)), typeOf(time(45))]).toEqual(["datetime", "string"]);
  expect(fit(time(44), column("datetime"))).toBe("2026-01-02T03:04:05.111111Z");
});

test("the ends of a range fit a column of times", () => {
  const range = [Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 2)] as const;
  const fits = (value: string) => fit(value, column("datetime", { range })) !== undefined;
  expect(fits("2026-01-01")).toBe(true);
  expect(fits("2026-01-02T00:00:00.000Z")).toBe(true);
  expect(fits("2025-12-31T23:59:59.999Z")).toBe(false);
  expect(fits("2026-01-02T00:00:00.001Z")).toBe(false);
});

test("the ends of a range fit a column of numbers, and no infinite one", () => {
  const range = [-9.5, 9.5] as const;
  const fits = (value: unknown) => fit(value, column("float", { range })) !== undefined;
  expect([-9.5, 9.5, -9.6, 9.6, "1", Number.NaN].map(fits)).toEqual([
    ...[true, true, false, false, false, false],
  ]);
});

test("a zone moves a time by its hours and minutes", () => {
  const utc = (zone: string) => fit(`2026-01-02T03:04:05${zone}`, column("datetime"));
  expect([utc("Z"), utc("z"), utc("+00:00")]).toEqual(Array(3).fill("2026-01-02T03:04:05.000Z"));
  expect([utc("+01:30"), utc("-01:30"), utc("-0130"), utc("+23")]).toEqual([
    ...["2026-01-02T01:34:05.000Z", "2026-01-02T04:34:05.000Z"],
    ...["2026-01-02T04:34:05.000Z", "2026-01-01T04:04:05.000Z"],
  ]);
});

test("a text of characters beyond 16 bits is measured by its characters", () => {
  const short = column("string", { charsMax: 3 });
  const fits = ["abc", "abcd", "🙂🙂🙂", "🙂🙂🙂🙂", "a🙂b", "a🙂bc"].map((it) => fit(it, short));
  expect(fits).toEqual(["abc", undefined, "🙂🙂🙂", undefined, "a🙂b", undefined]);
  expect(fit("x".repeat(100_000), column("string"))).toHaveLength(100_000);
});

test("any value has a text, without characters that cannot be stored", () => {
  const values = [true, 0, -0, 1e21, null, { a: "\0" }, ["\ud800"], new JsonText('{"a":1.10}')];
  expect(values.map(textOf)).toEqual([
    ...["true", "0", "0", "1e+21", "null", '{"a":""}', '["\ufffd"]', '{"a":1.10}'],
  ]);
  expect(cleanText("a\0b\ud800\0")).toBe("ab\ufffd");
  expect(cleanText("plain")).toBe("plain");
});

test("JSON keeps its escapes, except those that cannot be stored", () => {
  const json = (text: string) => fit(new JsonText(text), column("json"));
  expect(json('"\\u0041\\ud83d\\ude42\\n"')).toBe('"\\u0041\\ud83d\\ude42\\n"');
  expect(json('"\\u0000\\ud83d\\u0041\\ude42"')).toBe('"\ufffd\\u0041\ufffd"');
  expect(json('"\\\\u0000"')).toBe('"\\\\u0000"');
});
