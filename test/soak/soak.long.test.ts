import { expect, test } from "bun:test";
import { brokenPromises, soak } from "./soak.ts";

/** A short form of `npm run soak`. */
test("soak: no event is lost, invented or reordered while processes are killed", async () => {
  const report = await soak({
    ...{ minutes: 0.6, pixelsPerSecond: 150, chaosMs: 5_000, moodMs: 4_000 },
    ...{ sampleMs: 60_000, onSample() {} },
  });
  expect(brokenPromises(report)).toEqual([]);

  // Chaos did happen, and each outcome occurred.
  const { verdicts, chaos } = report;
  expect(Object.keys(chaos).length).toBeGreaterThanOrEqual(4);
  expect(report.revisions).toBeGreaterThan(1);
  for (const lane of ["javascript", "python"]) {
    expect(verdicts[lane]!.delivered).toBeGreaterThan(0);
    expect(verdicts[lane]!.dropped).toBeGreaterThan(0);
  }
  expect(verdicts.javascript!.deadLetters).toBeGreaterThan(0);
  expect(verdicts.file!.delivered).toBeGreaterThan(0);
}, 600_000);
