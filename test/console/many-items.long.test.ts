import { expect, test } from "bun:test";
import { chromiumMissing } from "../api/_chromium.ts";
import { describeWith } from "../counterpart.ts";
import { openManyItems, summaryOf } from "./many-items.ts";

describeWith(chromiumMissing)("the console with many dead letters and items", () => {
  // The command measures a million letters: writing them takes minutes.
  test("lists show their first page, find the last item, and a purge of all letters is listed", async () => {
    const waits = await openManyItems({ letters: 5_000, items: 60 });
    process.stderr.write(summaryOf(waits));
    expect(Object.keys(waits.steps)).toHaveLength(17);
    expect(Math.max(...Object.values(waits.answerBytes))).toBeLessThan(50_000);
  }, 300_000);
});
