import { expect, setDefaultTimeout, test } from "bun:test";
import { pino } from "pino";
import { ensureSnapshot } from "../../../src/sandbox/guest/python/snapshot.ts";
import { createSandboxMetrics } from "../../../src/sandbox/metrics.ts";
import { GuestStarter } from "../../../src/sandbox/scheduling/guest-starter.ts";
import { eventually, guestCommand, PATIENCE_MS } from "../support.ts";

setDefaultTimeout(PATIENCE_MS);
await ensureSnapshot();

test("the next Python guest starts a moment after one that was waited for, not beside its work", async () => {
  const starter = new GuestStarter({
    guestCommand,
    insecure: false,
    log: pino({ level: "silent" }),
    metrics: createSandboxMetrics(),
    graceMs: 200,
    watchMs: 25,
    spares: 1,
  });
  try {
    // The spare JavaScript guest starts with the starter.
    expect(starter.aliveCount).toBe(1);
    await starter.acquire("python", 0);
    expect(starter.aliveCount).toBe(2);
    await eventually(() => starter.aliveCount === 3);
  } finally {
    await starter.close();
  }
});
