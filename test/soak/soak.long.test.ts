import { expect, test } from "bun:test";
import { brokenPromises, soak } from "./soak.ts";

/** A short form of `npm run soak`. */
test("nothing is lost, invented or reordered while everything is upset", async () => {
  const report = await soak({
    ...{ minutes: 0.6, pixelsPerSecond: 150, chaosMs: 5_000, moodMs: 4_000 },
    ...{ sampleMs: 60_000, onSample() {} },
  });
  expect(brokenPromises(report)).toEqual([]);

  // It was upset indeed, and each outcome was met.
  const { verdicts, chaos } = report;
  expect(Object.keys(chaos).length).toBeGreaterThanOrEqual(4);
  expect(report.revisions).toBeGreaterThan(1);
  for (const lane of ["javascript", "python"]) {
    expect(verdicts[lane]!.delivered).toBeGreaterThan(0);
    expect(verdicts[lane]!.dropped).toBeGreaterThan(0);
  }
  expect(verdicts.javascript!.deadLetters).toBeGreaterThan(0);
  expect(verdicts.file!.delivered).toBeGreaterThan(500);
}, 600_000);
