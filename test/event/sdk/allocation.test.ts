import { expect, test } from "bun:test";
import { runs } from "../../tier.ts";

/** Growth of a process that never collects, in bytes per operation. */
async function growth(work: string, count: number): Promise<number> {
  const child = Bun.spawn(
    [process.execPath, `${import.meta.dir}/allocation-child.ts`, work, String(count)],
    { env: { ...process.env, BUN_JSC_useGC: "0" }, stderr: "inherit" },
  );
  const text = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  return Number(text);
}

test("the scan of a batch of 100 events allocates its result, and nothing for an event", async () => {
  expect(await growth("batch", runs(250, 4_000))).toBeLessThan(1_000);
}, 300_000);

test("the members of an event are found without an allocation", async () => {
  expect(await growth("event", runs(25_000, 150_000))).toBeLessThan(1);
}, 300_000);

test("the measure detects a parser that allocates", async () => {
  expect(await growth("control", 500)).toBeGreaterThan(1_000);
}, 300_000);
