import { expect, test } from "bun:test";
import { createMetrics } from "../../src/observe/metrics.ts";

test("metrics name their process, and leave out heap spaces, which are slow to measure", async () => {
  const text = await createMetrics("ingest").metrics();
  expect(text).toMatch(/^process_resident_memory_bytes\{process="ingest"\} \d+$/m);
  expect(text).not.toContain("heap_space");
});

test("an idle process is not woken a hundred times a second to measure its lag", async () => {
  const module = JSON.stringify(`${import.meta.dir}/../../src/observe/metrics.ts`);
  const script = `
    import { readFileSync } from "node:fs";
    import { createMetrics } from ${module};
    const wakes = () => Number(readFileSync("/proc/thread-self/status", "utf8")
      .match(/^voluntary_ctxt_switches:\\s+(\\d+)/m)[1]);
    createMetrics();
    const before = wakes();
    await Bun.sleep(1_000);
    process.stdout.write(String(wakes() - before));
    process.exit(0);`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe" });
  expect(Number(await child.stdout.text())).toBeWithin(1, 60);
});
