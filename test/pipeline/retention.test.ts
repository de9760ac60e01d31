import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { pino } from "pino";
import type { LogPart, LogReader } from "../../src/log/event-log.ts";
import { createMetrics } from "../../src/observe/metrics.ts";
import { createRetentionMetrics } from "../../src/pipeline/retention/metrics.ts";
import {
  type Disk,
  lackingBytes,
  RETENTION_FREE_BYTES_MIN,
  Retention,
  type RetentionBounds,
  segmentBounds,
} from "../../src/pipeline/retention/retention.ts";

const PART_RECORDS = 4;
const RECORD_BYTES = 8;
const PART_BYTES = PART_RECORDS * RECORD_BYTES;
const HOUR_MS = 3_600_000;

/** A log of times: four records make a part. */
class TimesLog implements LogReader {
  readonly times: number[] = [];
  #first = 0;
  /** Positions that were read. */
  readonly reads: number[] = [];
  failing = false;

  add(...times: number[]): this {
    this.times.push(...times);
    return this;
  }

  first = () => this.#first;
  end = () => this.times.length;
  advance(): void {}
  countBetween = (from: number, to: number) => to - from;

  async read(sequence: number) {
    if (this.failing) throw new Error("EIO");
    this.reads.push(sequence);
    const records = this.times.slice(sequence, sequence + 1).map((time) => {
      const bytes = new Uint8Array(RECORD_BYTES);
      new DataView(bytes.buffer).setFloat64(0, time);
      return { sequence, bytes };
    });
    return { records, next: sequence + records.length };
  }

  async trim(sequence: number): Promise<void> {
    const parts = this.parts();
    while (parts.length > 1 && parts[1]!.first <= sequence) parts.shift();
    this.#first = parts[0]?.first ?? 0;
  }

  parts(): LogPart[] {
    const parts: LogPart[] = [];
    for (let first = this.#first; first < this.times.length; first += PART_RECORDS) {
      const records = Math.min(PART_RECORDS, this.times.length - first);
      parts.push({ first, bytes: records * RECORD_BYTES });
    }
    return parts;
  }

  async close(): Promise<void> {}
}

const timeOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset).getFloat64(0);

function rig(
  bounds: RetentionBounds,
  logs: Record<string, TimesLog>,
  disk?: () => Disk,
  allReaders?: Map<string, TimesLog>,
) {
  const clock = { at: 0, now: () => clock.at, age: (time: number) => Math.max(0, clock.at - time) };
  const lines: string[] = [];
  const logger = pino({}, { write: (line) => lines.push(JSON.parse(line).msg) });
  const readers = new Map(Object.entries(logs));
  const givenUp: number[] = [];
  const onGivenUp = (bytes: number) => givenUp.push(bytes);
  const parts = { bounds, readers, timeOf, clock, logger, disk, onGivenUp };
  const retention = new Retention({ ...parts, ...(allReaders && { allReaders }) });
  /** Trims as the pipeline does, where lanes need nothing below these positions. */
  const trim = async (low: Record<string, number> = {}) => {
    const below = new Map(Array.from(readers, ([name, it]) => [name, low[name] ?? it.end()]));
    const positions = await retention.trimmable(below);
    for (const [name, reader] of readers) {
      const to = positions.get(name)!;
      expect(to).toBeLessThanOrEqual(below.get(name)!);
      if (to > reader.first()) await reader.trim(to);
    }
  };
  return { clock, trim, lines, givenUp };
}

const minutes = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => (from + i) * 60_000);

describe("retention", () => {
  test("retention without a bound keeps no events, and reads none", async () => {
    const log = new TimesLog().add(...minutes(0, 40));
    const { trim } = rig({ ageMsMax: 0, bytesMax: 0 }, { log });
    await trim({ log: 30 });
    expect(log.first()).toBe(28);
    expect(log.reads).toEqual([]);
  });

  test("retention by age keeps no part whose first event is older", async () => {
    const log = new TimesLog().add(...minutes(0, 120));
    const { trim, clock } = rig({ ageMsMax: HOUR_MS, bytesMax: 0 }, { log });
    for (let minute = 0; minute <= 120; minute++) {
      clock.at = minute * 60_000;
      await trim();
      const kept = Math.max(0, PART_RECORDS * Math.ceil((minute - 60) / PART_RECORDS));
      expect(log.first()).toBe(Math.min(kept, 116));
    }
  });

  test("retention by bytes keeps the newest events of all logs", async () => {
    const busy = new TimesLog().add(...minutes(0, 400));
    const left = new TimesLog().add(...minutes(100, 120));
    const { trim, clock } = rig({ ageMsMax: 0, bytesMax: 10 * PART_BYTES }, { busy, left });
    clock.at = 400 * 60_000;
    await trim();
    // A log without a writer is trimmed for newer events, except for its last part.
    expect(left.first()).toBe(16);
    expect(busy.first()).toBe(400 - 9 * PART_RECORDS);
  });

  test("retention by bytes of one of several logs keeps its share, which is smaller once there are more", async () => {
    const log = new TimesLog().add(...minutes(0, 400));
    const all = new Map(["k0", "k1"].map((name) => [name, log]));
    const { trim } = rig({ ageMsMax: 0, bytesMax: 20 * PART_BYTES }, { k0: log }, undefined, all);
    await trim();
    expect(log.first()).toBe(400 - 10 * PART_RECORDS);
    for (const name of ["k2", "k3"]) all.set(name, log);
    await trim();
    expect(log.first()).toBe(400 - 5 * PART_RECORDS);
  });

  test("retention by age and bytes holds both bounds", async () => {
    const log = new TimesLog().add(...minutes(0, 400));
    const { trim, clock } = rig({ ageMsMax: HOUR_MS, bytesMax: 10 * PART_BYTES }, { log });
    clock.at = 400 * 60_000;
    await trim();
    expect(log.first()).toBe(360);
    clock.at = 440 * 60_000;
    await trim();
    expect(log.first()).toBe(380);
  });

  test("retention deletes kept events for a full disk, the oldest first and no more than needed", async () => {
    const log = new TimesLog().add(...minutes(0, 400));
    const disk = { sizeBytes: 10_000, freeBytes: 2_000 };
    const { trim, clock, givenUp, lines } = rig(
      { ageMsMax: 1e12, bytesMax: 0 },
      { log },
      () => disk,
    );
    clock.at = 400 * 60_000;
    await trim();
    expect(log.first()).toBe(0);
    disk.freeBytes = 1_000 - 3 * PART_BYTES;
    await trim({ log: 200 });
    expect(log.first()).toBe(3 * PART_RECORDS);
    expect(givenUp).toEqual([3 * PART_BYTES]);
    expect(lines).toEqual(["kept events deleted: the disk is nearly full"]);
    disk.freeBytes = 0;
    await trim({ log: 20 });
    expect(log.first()).toBe(20);
  });

  test("the least free space of a small disk is a fraction of its size", () => {
    const sizeBytes = 100 * 2 ** 30;
    expect(lackingBytes({ sizeBytes, freeBytes: RETENTION_FREE_BYTES_MIN })).toBe(0);
    expect(lackingBytes({ sizeBytes, freeBytes: 1 })).toBe(RETENTION_FREE_BYTES_MIN - 1);
    expect(lackingBytes({ sizeBytes: 1_000, freeBytes: 100 })).toBe(0);
    expect(lackingBytes({ sizeBytes: 1_000, freeBytes: 90 })).toBe(10);
  });

  test("a part that a wrong clock put into the future is as old as the part after it", async () => {
    const log = new TimesLog().add(...minutes(0, 8), ...Array(8).fill(1e12), ...minutes(8, 100));
    const { trim, clock } = rig({ ageMsMax: HOUR_MS, bytesMax: 0 }, { log });
    clock.at = 69 * 60_000;
    await trim();
    expect(log.first()).toBe(20);
  });

  test("a part that a wrong clock put into the past waits for the parts before it", async () => {
    const log = new TimesLog().add(...minutes(1_000, 1_008), ...Array(8).fill(0), 61e6, 61e6);
    const { trim, clock } = rig({ ageMsMax: HOUR_MS, bytesMax: 0 }, { log });
    clock.at = 1_050 * 60_000;
    await trim();
    expect(log.first()).toBe(0);
    clock.at = 1_065 * 60_000;
    await trim();
    expect(log.first()).toBe(16);
  });

  test("a part that cannot be read counts as new", async () => {
    const log = new TimesLog().add(...minutes(0, 100));
    const { trim, clock, lines } = rig({ ageMsMax: HOUR_MS, bytesMax: 0 }, { log });
    clock.at = 1e9;
    log.failing = true;
    await trim();
    expect(log.first()).toBe(0);
    expect(lines).toEqual(["cannot read the age of kept events"]);
    log.failing = false;
    await trim();
    expect(log.first()).toBe(96);
  });

  test("metrics show the kept bytes, the oldest event and the bounds", async () => {
    const one = new TimesLog().add(...minutes(5, 9));
    const two = new TimesLog().add(...minutes(3, 9));
    const shown = async (logs: Record<string, TimesLog>) => {
      const metrics = createMetrics();
      const bounds = { ageMsMax: HOUR_MS, bytesMax: 700 };
      createRetentionMetrics(metrics, new Map(Object.entries(logs)), bounds, timeOf);
      const all = await metrics.getMetricsAsJSON();
      const kept = all.filter(({ name }) => name.startsWith("pixelmill_events"));
      return kept.map(({ values }) => values[0]!.value);
    };
    const bounds = [3_600, 700, 0];
    const logs = { one, two, three: new TimesLog() };
    expect(await shown(logs)).toEqual([10 * RECORD_BYTES, 180, ...bounds]);
    expect(await shown({ three: new TimesLog() })).toEqual([0, 0, ...bounds]);
    two.failing = true;
    expect(await shown(logs)).toEqual([10 * RECORD_BYTES, 300, ...bounds]);
  });

  test("retention reads the time of each part once", async () => {
    const log = new TimesLog().add(...minutes(0, 400));
    const { trim, clock } = rig({ ageMsMax: HOUR_MS, bytesMax: 0 }, { log });
    for (let minute = 300; minute < 400; minute++) {
      clock.at = minute * 60_000;
      await trim();
    }
    expect(log.reads.length).toBe(new Set(log.reads).size);
  });
});

const step = fc.oneof(
  fc.record({
    kind: fc.constant("append" as const),
    log: fc.nat(1),
    count: fc.integer({ min: 1, max: 30 }),
  }),
  fc.record({ kind: fc.constant("pass" as const), ms: fc.nat(2_000) }),
  fc.record({
    kind: fc.constant("deliver" as const),
    log: fc.nat(1),
    share: fc.constantFrom(0, 0.5, 1),
  }),
  fc.record({ kind: fc.constant("free" as const), bytes: fc.integer({ min: 800, max: 1_100 }) }),
  fc.record({
    kind: fc.constant("bounds" as const),
    ageMsMax: fc.constantFrom(0, 1_000, 9_000, 30_000),
    bytesMax: fc.constantFrom(0, 40, 100, 400),
  }),
);

test("retention deletes no part that a lane needs or that both bounds keep", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const logs = { a: new TimesLog(), b: new TimesLog() };
      const names = ["a", "b"] as const;
      const disk = { sizeBytes: 10_000, freeBytes: 10_000 };
      const bounds = { ageMsMax: 30_000, bytesMax: 0 };
      const { trim, clock } = rig(bounds, logs, () => disk);
      const low = { a: 0, b: 0 };
      clock.at = 1;
      for (const it of steps) {
        if (it.kind === "append") logs[names[it.log]!].add(...Array(it.count).fill(clock.at));
        else if (it.kind === "pass") clock.at += it.ms;
        else if (it.kind === "free") disk.freeBytes = it.bytes;
        else if (it.kind === "bounds") Object.assign(bounds, it);
        else {
          const name = names[it.log]!;
          low[name] += Math.floor((logs[name].end() - low[name]) * it.share);
        }
        const before = names.map((name) => logs[name].parts());
        await trim(low);
        const after = names.map((name) => logs[name].parts());
        const sum = (all: LogPart[][]) => all.flat().reduce((total, part) => total + part.bytes, 0);
        const mayGo = (n: number, index: number, parts: LogPart[]) =>
          index < parts.length - 1 && parts[index + 1]!.first <= low[names[n]!];
        const ageOf = (n: number, { first }: LogPart) => clock.at - logs[names[n]!].times[first]!;
        const { ageMsMax, bytesMax } = bounds;
        const isBound = ageMsMax > 0 || bytesMax > 0;
        let excess = bytesMax > 0 ? sum(before) - bytesMax : 0;
        let lacking = lackingBytes(disk);
        const gone = before.flatMap((parts, n) =>
          parts.filter(({ first }) => first < logs[names[n]!].first()).map((part) => ({ n, part })),
        );
        gone.sort((x, y) => ageOf(y.n, y.part) - ageOf(x.n, x.part));
        for (const { n, part } of gone) {
          expect(part.first + PART_RECORDS).toBeLessThanOrEqual(low[names[n]!]);
          const isOld = ageMsMax > 0 && ageOf(n, part) > ageMsMax;
          expect(!isBound || isOld || excess > 0 || lacking > 0).toBe(true);
          excess -= part.bytes;
          lacking -= part.bytes;
        }
        const left = after.flatMap((parts, n) =>
          parts.filter((_, i) => mayGo(n, i, parts)).map((part) => ageOf(n, part)),
        );
        if (left.length === 0) continue;
        expect(isBound).toBe(true);
        const youngestGone = Math.min(...gone.map(({ n, part }) => ageOf(n, part)));
        expect(Math.max(...left)).toBeLessThanOrEqual(youngestGone);
        expect(ageMsMax === 0 || Math.max(...left) <= ageMsMax).toBe(true);
        expect(bytesMax === 0 || sum(after) <= bytesMax).toBe(true);
        expect(lackingBytes(disk) <= sum(before) - sum(after)).toBe(true);
      }
    }),
    { numRuns: 300 },
  );
});

test("segments span a sixteenth of the retention bounds, between limits", () => {
  const MIB = 1 << 20;
  expect(segmentBounds({ ageMsMax: 0, bytesMax: 0 }, 1)).toEqual({});
  expect(segmentBounds({ ageMsMax: 16_000_000, bytesMax: 0 }, 4)).toEqual({
    segmentMsMax: 1_000_000,
  });
  expect(segmentBounds({ ageMsMax: 1_000, bytesMax: 0 }, 4)).toEqual({ segmentMsMax: 1_000 });
  expect(segmentBounds({ ageMsMax: 7 * 86_400_000, bytesMax: 1e15 }, 1)).toEqual({
    segmentMsMax: HOUR_MS,
    segmentBytesMax: 64 * MIB,
  });
  expect(segmentBounds({ ageMsMax: 0, bytesMax: 512 * MIB }, 4)).toEqual({
    segmentBytesMax: 8 * MIB,
  });
  expect(segmentBounds({ ageMsMax: 0, bytesMax: 1 }, 4)).toEqual({ segmentBytesMax: MIB });
});
