import { expect, test } from "bun:test";
import { join } from "node:path";
import { dataWithSource, startIngest, until } from "./ingest-support.ts";

/** Ingest processes that compute for 20 s and longer, as on a busy machine. */
const entry = [process.execPath, join(import.meta.dir, "slow-entry.ts")];

// Tests that run at once cannot make their directories.
const slow = await dataWithSource();
const slowAtFirst = await dataWithSource();

test.concurrent("a process that computes for long is not ready meanwhile, and not killed", async () => {
  await using ingest = await startIngest(slow.data, { command: entry });
  const [pid] = ingest.pids();
  await until(() => ingest.health().trouble !== undefined);
  await until(() => ingest.health().trouble === undefined);
  expect(ingest.pids()).toEqual([pid!]);
}, 300_000);

test.concurrent("a process that takes long to start, since it computes, is waited for", async () => {
  await using ingest = await startIngest(slowAtFirst.data, { command: [...entry, "start"] });
  expect(ingest.health().trouble).toBeUndefined();
}, 300_000);
