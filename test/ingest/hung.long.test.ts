import { expect, test } from "bun:test";
import { INGEST_PULSE_MS } from "../../src/ingest/limits.ts";
import { INGEST_PULSES_MISSED_MAX } from "../../src/ingest/supervisor/ingest-process.ts";
import { holds } from "../until.ts";
import { dataWithSource, pixelUrl, startIngest, until, usersOf } from "./ingest-support.ts";

// Tests that run at once cannot make their directories.
const hanging = await dataWithSource();
const silent = await dataWithSource();

test.concurrent("a process that receives no pixel does not count as hung", async () => {
  await using ingest = await startIngest(silent.data);
  const pids = ingest.pids();
  // For longer than the watch is patient.
  await holds(INGEST_PULSE_MS * (INGEST_PULSES_MISSED_MAX + 3), () =>
    expect(ingest.pids()).toEqual(pids),
  );
}, 300_000);

test.concurrent("a process that hangs is not ready, then killed and started again", async () => {
  const { data, writeKey } = hanging;
  await using ingest = await startIngest(data);
  const [pid] = ingest.pids();
  expect((await fetch(pixelUrl(ingest.url, writeKey, "before"))).status).toBe(200);
  process.kill(pid!, "SIGSTOP");
  await until(() => ingest.health().trouble !== undefined);
  expect(ingest.pids()).toEqual([pid!]);
  await until(() => ingest.health().trouble === undefined && ingest.pids()[0] !== pid);
  expect((await fetch(pixelUrl(ingest.url, writeKey, "after"))).status).toBe(200);
  expect(await usersOf(ingest)).toEqual(["before", "after"]);
}, 300_000);
