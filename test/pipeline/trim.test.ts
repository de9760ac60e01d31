import { describe, expect, test } from "bun:test";
import { pino } from "pino";
import { Retention, type RetentionBounds } from "../../src/pipeline/retention/retention.ts";
import { createTrimmer, TRIM_AGE_MS_MIN } from "../../src/pipeline/retention/trimmer.ts";
import { decode, MemoryLog, record } from "./doubles.ts";
import { numbersTo } from "./rig.ts";

const none: RetentionBounds = { ageMsMax: 0, bytesMax: 0 };

interface RigOptions {
  keptFrom?: (log: string) => Promise<number>;
  freeBytes?: () => number;
}

function rig(
  low: () => number | undefined,
  bounds = none,
  { keptFrom, freeBytes = () => 1e12 }: RigOptions = {},
) {
  const log = new MemoryLog();
  const other = new MemoryLog("1");
  let now = 1_000_000;
  let checkpoints = 0;
  const clock = { elapsed: () => now, now: () => now, age: (at: number) => now - at };
  const readers = new Map([
    ["0", log],
    ["1", other],
  ]);
  const logger = pino({ level: "silent" });
  const timeOf = (bytes: Uint8Array) => decode(bytes).receivedAt;
  const trimmer = createTrimmer({
    lanes: { durableLow: low, checkpoint: () => ++checkpoints },
    retention: new Retention({
      ...{ bounds, readers, timeOf, clock, logger },
      disk: () => ({ freeBytes: freeBytes(), sizeBytes: 1e12 }),
    }),
    ...{ readers, clock, logger, ...(keptFrom && { keptFrom }) },
  });
  return {
    now: () => now,
    log,
    other,
    trimmer,
    checkpoints: () => checkpoints,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

describe("trimming", () => {
  test("records that every lane has passed are trimmed once they are old", async () => {
    let low = 0;
    const { log, trimmer, pass, checkpoints } = rig(() => low);
    log.append(...numbersTo(100).map((n) => record(n)));
    await trimmer.run();
    pass(TRIM_AGE_MS_MIN);
    await trimmer.run();
    expect(log.first()).toBe(0);
    low = 40;
    await trimmer.run();
    expect(log.first()).toBe(40);
    low = 100;
    log.append(...numbersTo(50).map((n) => record(n)));
    await trimmer.run();
    expect(log.first()).toBe(100);
    expect(checkpoints()).toBe(4);
  });

  test("records that every lane passed at once stay for a minute", async () => {
    const { log, trimmer, pass } = rig(() => 10);
    log.append(...numbersTo(10).map((n) => record(n)));
    await trimmer.run();
    pass(TRIM_AGE_MS_MIN - 1);
    await trimmer.run();
    expect(log.first()).toBe(0);
    pass(1);
    await trimmer.run();
    expect(log.first()).toBe(10);
  });

  test("records in a window for repeated events are kept, unless the disk is nearly full", async () => {
    let free = 1e12;
    let needed = 4;
    const keptFrom = async (log: string) => (log === "0" ? needed : Number.POSITIVE_INFINITY);
    const { log, other, trimmer, pass } = rig(() => 10, none, { keptFrom, freeBytes: () => free });
    for (const it of [log, other]) it.append(...numbersTo(10).map((n) => record(n)));
    await trimmer.run();
    pass(TRIM_AGE_MS_MIN);
    await trimmer.run();
    expect([log.first(), other.first()]).toEqual([4, 10]);
    needed = 6;
    await trimmer.run();
    expect(log.first()).toBe(6);
    free = 1e6;
    await trimmer.run();
    expect(log.first()).toBe(10);
  });

  test("records are kept while it is unknown which are needed", async () => {
    const keptFrom = () => Promise.reject(new Error("No broker"));
    const { log, trimmer, pass } = rig(() => 10, none, { keptFrom });
    log.append(...numbersTo(10).map((n) => record(n)));
    await trimmer.run();
    pass(TRIM_AGE_MS_MIN);
    await trimmer.run();
    expect(log.first()).toBe(0);
  });

  test("a log without lanes is trimmed up to its end of a minute ago", async () => {
    const { log, trimmer, pass } = rig(() => undefined);
    log.append(...numbersTo(10).map((n) => record(n)));
    await trimmer.run();
    for (let n = 0; n < 6; n++) {
      pass(TRIM_AGE_MS_MIN / 6);
      log.append(record(n));
      expect(log.first()).toBe(0);
      await trimmer.run();
    }
    expect(log.first()).toBe(10);
    pass(TRIM_AGE_MS_MIN / 6);
    await trimmer.run();
    expect(log.first()).toBe(11);
  });

  test("kept events are trimmed once they are too old, and records that a lane needs stay", async () => {
    let low = 100;
    const ageMsMax = 3_600_000;
    const { log, trimmer, pass, now } = rig(() => low, { ageMsMax, bytesMax: 0 });
    for (let n = 0; n < 100; n++) {
      log.append(record(n, "ann", { receivedAt: now() }));
      pass(60_000);
      await trimmer.run();
      expect(log.first()).toBe(Math.max(0, n - 59));
    }
    low = 60;
    pass(30 * 60_000);
    await trimmer.run();
    expect(log.first()).toBe(60);
    low = 100;
    pass(ageMsMax);
    await trimmer.run();
    // The newest part of a log may still grow, and stays.
    expect(log.first()).toBe(99);
  });

  test("a log that cannot be trimmed does not stop the others", async () => {
    const { log, other, trimmer, pass } = rig(() => undefined);
    log.append(record(0));
    other.append(record(0));
    log.trim = () => Promise.reject(new Error("EIO"));
    await trimmer.run();
    pass(TRIM_AGE_MS_MIN);
    await trimmer.run();
    expect(log.first()).toBe(0);
    expect(other.first()).toBe(1);
  });

  test("logs that cannot be listed for a while are trimmed afterwards", async () => {
    const { log, trimmer, pass, now } = rig(() => 100, { ageMsMax: 60_000, bytesMax: 0 });
    const { parts } = log;
    log.parts = () => {
      throw Object.assign(new Error("EMFILE"), { code: "EMFILE" });
    };
    log.append(...numbersTo(100).map((n) => record(n, "ann", { receivedAt: now() })));
    await trimmer.run();
    pass(TRIM_AGE_MS_MIN + 1);
    await trimmer.run();
    expect(log.first()).toBe(0);
    log.parts = parts;
    await trimmer.run();
    expect(log.first()).toBeGreaterThan(0);
  });

  test("a long trim blocks no other log and no checkpoint, runs once, and ends at the stop", async () => {
    const { log, other, trimmer, pass, checkpoints } = rig(() => undefined);
    log.append(record(0));
    other.append(record(0));
    await trimmer.run();
    pass(TRIM_AGE_MS_MIN);
    let trims = 0;
    log.trim = (_sequence: number, stop?: AbortSignal) => {
      trims++;
      return new Promise((resolve) => stop!.addEventListener("abort", () => resolve()));
    };
    const runs = [trimmer.run()];
    other.append(record(1));
    await Bun.sleep(0);
    runs.push(trimmer.run());
    pass(TRIM_AGE_MS_MIN);
    await Bun.sleep(0);
    runs.push(trimmer.run());
    await Bun.sleep(0);
    expect(trims).toBe(1);
    expect(other.first()).toBe(2);
    expect(checkpoints()).toBe(4);
    await trimmer.stop();
    await Promise.all(runs);
  });
});
