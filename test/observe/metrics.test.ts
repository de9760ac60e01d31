import { expect, test } from "bun:test";
import { createMetrics } from "../../src/observe/metrics.ts";

test("metrics name their process, and leave out heap spaces, which are slow to measure", async () => {
  const text = await createMetrics("ingest").metrics();
  expect(text).toMatch(/^process_resident_memory_bytes\{process="ingest"\} \d+$/m);
  expect(text).not.toContain("heap_space");
});
