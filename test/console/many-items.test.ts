import { expect, test } from "bun:test";
import { chromiumMissing } from "../api/_chromium.ts";
import { describeWith } from "../counterpart.ts";
import { openCrowd, said } from "./many-items.ts";

describeWith(chromiumMissing)("over very many dead letters and transformations", () => {
  // A million and ten thousand are the command's: writing them takes minutes.
  test("every list shows its first page, and a purge of all is stopped", async () => {
    const waits = await openCrowd({ letters: 5_000, transformations: 60 });
    process.stderr.write(said(waits));
    expect(Object.keys(waits.steps)).toHaveLength(6);
  }, 300_000);
});
