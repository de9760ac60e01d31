import { expect, test } from "bun:test";
import {
  formatBytes,
  formatChartDuration,
  formatCompact,
  formatDuration,
  formatRate,
  isolated,
  pluralize,
} from "../../../src/console/format.ts";
import {
  type Metrics,
  perMinute,
  pointTimes,
  SECONDS_STEPS,
} from "../../../src/console/metrics/chart-values.ts";
import { auditTexts } from "../../../src/console/texts/audit.ts";
import { codeTexts, testCaseTexts } from "../../../src/console/texts/code.ts";
import { commonTexts } from "../../../src/console/texts/common.ts";
import { conflictTexts } from "../../../src/console/texts/conflicts.ts";
import { deadLetterTexts } from "../../../src/console/texts/dead-letters.ts";
import { destinationTexts } from "../../../src/console/texts/destinations.ts";
import { replayTexts } from "../../../src/console/texts/replays.ts";
import { searchTexts } from "../../../src/console/texts/search.ts";
import { systemTexts } from "../../../src/console/texts/system.ts";
import { tailTexts } from "../../../src/console/texts/tail.ts";

test("a duration is shown in its largest fitting unit", () => {
  const shown = [0.35, 1, 4.25, 10, 59, 60, 3_599, 3_600, 172_799, 172_800, 200_000];
  expect(shown.map((it) => formatDuration(it))).toEqual([
    ...["350 ms", "1.0 s", "4.3 s", "10 s", "59 s", "1 min", "60 min", "1 h", "48 h", "2 d", "2 d"],
  ]);
  expect(formatDuration(4.25, 0)).toBe("4 s");
  const labels = [0, 30, 60, 90, 119, 120, 3_600, 5_400, 7_199, 7_200];
  expect(labels.map(formatChartDuration)).toEqual([
    ...["0 s", "30 s", "60 s", "90 s", "119 s", "2 min", "60 min", "90 min", "120 min", "2 h"],
  ]);
});

test("a bound of what is kept is named, and its absence", () => {
  const bounds = [[], ["30 d"], ["30 d", "5 GB"]];
  expect(bounds.map(systemTexts.retention)).toEqual(["No", "Up to 30 d", "Up to 30 d and 5 GB"]);
});

test("figures are shown with few digits", () => {
  expect([0, 0.05, 0.1, 9.94, 10, 12_345].map(formatRate)).toEqual([
    ...["0/s", "<0.1/s", "0.1/s", "9.9/s", "10/s", "12.3K/s"],
  ]);
  expect([0, 1_023, 1_024, 102_400, 2 ** 40, 2 ** 60].map(formatBytes)).toEqual([
    ...["0 B", "1023 B", "1.0 KiB", "100 KiB", "1.0 TiB", "1048576 TiB"],
  ]);
  expect([9_999, 10_000].map(formatCompact)).toEqual(["9,999", "10K"]);
  expect([0, 1, 1_000].map((it) => pluralize(it, "event"))).toEqual([
    ...["0 events", "1 event", "1,000 events"],
  ]);
  expect(pluralize(2, "entry", "entries")).toBe("2 entries");
});

test("a name changes no direction of the text beside it", () => {
  expect(isolated("Site")).toBe("Site");
  expect(isolated("a\u202eb")).toBe("a[U+202E]b");
  expect(isolated("שלום")).toBe("\u2068שלום\u2069");
});

test("points of a chart are events a minute, without those that were hardly recorded", () => {
  const metrics = {
    ...{ from: "2026-02-16T01:11:00.000Z", stepSeconds: 60, recordedSeconds: [60, 30, 6, 5.9, 60] },
    received: [60, 60, 6, 6, null],
  } as never as Metrics;
  expect(perMinute(metrics, "received")).toEqual([60, 120, 60, null, null]);
  const first = Date.parse("2026-02-16T01:11:00.000Z") / 1_000;
  expect(pointTimes(metrics)).toEqual([0, 60, 120, 180, 240].map((after) => first + after));
});

test("labels of a chart's axis divide a minute, an hour or a day evenly, or are whole days apart", () => {
  const [minute, hour, day] = [60, 3_600, 86_400];
  expect(SECONDS_STEPS).toEqual([
    ...[minute / 60, minute / 30, minute / 12, minute / 6, minute / 3, minute / 2, minute],
    ...[hour / 30, hour / 12, hour / 6, hour / 3, hour / 2, hour],
    ...[day / 12, day / 4, day / 2, day, 2 * day, 5 * day, 10 * day],
  ]);
});

test("a sentence names the changes of an event", () => {
  expect(tailTexts.changes(0, [])).toBe("");
  expect(tailTexts.changes(1, [])).toBe("1 line changed");
  expect(tailTexts.changes(2, ["a", "b.c"])).toBe("2 lines changed; removed: a, b.c");
  expect(tailTexts.changes(0, ["a"])).toBe("removed: a");
});

test("a sentence has the parts that are known", () => {
  const written = (text: unknown) => [text].flat(3).filter(Boolean).join("");
  const cases: [unknown, string][] = [
    [auditTexts.requests(2, undefined), "2 requests"],
    [auditTexts.requests(1, 2), "1 request from 2 addresses"],
    [auditTexts.entryTitle("Done", undefined), "Done"],
    [auditTexts.entryTitle("Done", "Site"), "Done: Site"],
    [auditTexts.keptSince(2, true, undefined), "2 entries, end of results"],
    [
      auditTexts.keptSince(1, false, "May"),
      "1 entry. Entries from before May may have been deleted",
    ],
    [codeTexts.lineOf(3, undefined), "Line 3"],
    [codeTexts.lineOf(3, "tools"), "Line 3 of tools"],
    [codeTexts.codeTitle(undefined), "Code"],
    [codeTexts.codeTitle("tools"), "Library tools"],
    [deadLetterTexts.codePosition(3, undefined), "Line 3 of the code."],
    [deadLetterTexts.codePosition(3, 4), "Line 3, column 4 of the code."],
    [destinationTexts.cause("HTTP 500", undefined), "HTTP 500"],
    [destinationTexts.cause("HTTP 500: no", "no"), "HTTP 500: no"],
    [destinationTexts.cause("HTTP 500", "no"), "HTTP 500: no"],
    [commonTexts.defaultOption(undefined), "Default"],
    [commonTexts.defaultOption(7), "Default (7)"],
    [commonTexts.onePerLine(), "One per line"],
    [commonTexts.onePerLine("Hosts."), "Hosts. One per line"],
    [conflictTexts.overlaps(1), "1 place was changed by both."],
    [conflictTexts.overlaps(2), "2 places were changed by both."],
    [replayTexts.speed(undefined, "5/s"), "5/s"],
    [replayTexts.speed(9, "5/s"), "About 9 left, 5/s"],
    [replayTexts.scopeOf("Events", true, undefined, "CRM"), "Events to CRM"],
    [replayTexts.scopeOf("Purge", false, "Site", "CRM"), "Purge of Site of CRM"],
    [searchTexts.foundBackTo(1, undefined), "1 event"],
    [searchTexts.foundBackTo(2, "May"), "2 events, back to May"],
    [tailTexts.outcomeAt("CRM", "delivered"), "CRM"],
    [tailTexts.outcomeAt("CRM", "dropped"), "CRM dropped"],
    [testCaseTexts.count(0), "Test cases"],
    [testCaseTexts.count(2), "Test cases (2)"],
  ];
  expect(cases.map(([text]) => written(text))).toEqual(cases.map(([, expected]) => expected));
  expect(commonTexts.outcomeUnknown(true)).toContain("not made twice");
  expect(commonTexts.outcomeUnknown(false)).not.toContain("not made twice");
});
