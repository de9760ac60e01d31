import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Registry } from "prom-client";
import { LogUnavailable } from "../../src/log/event-log.ts";
import { LossReport } from "../../src/log/loss-report.ts";
import { openLogReader } from "../../src/log/reader.ts";
import { listSegments } from "../../src/log/segment/segments.ts";
import { openLogWriter } from "../../src/log/writer.ts";
import { testWith } from "../counterpart.ts";
import { mountDisk, mountMissing, unmountDisk } from "../small-disk.ts";
import { holds } from "../until.ts";
import type { Outcome } from "./limited-writer.ts";
import {
  listeningLogger,
  metricValue,
  openFiles,
  openTextWriter,
  quiet,
  readAll,
  temporaryDirectory,
  textCodec,
  until,
} from "./support.ts";

const TMPFS_BYTES = 8 << 20;

testWith(mountMissing)(
  "a full disk refuses, loses nothing, and recovers without traffic or restart",
  async () => {
    const directory = temporaryDirectory();
    mountDisk(directory, TMPFS_BYTES);
    try {
      await fillAndRecover(directory);
    } finally {
      unmountDisk(directory);
    }
  },
  300_000,
);

async function fillAndRecover(mounted: string): Promise<void> {
  const directory = join(mounted, "log");
  const { logger, lines } = listeningLogger();
  const metrics = new Registry();
  let toldHealth: boolean | undefined;
  const onChange = () => {
    toldHealth = writer.healthy();
  };
  const options = { directory, codec: textCodec, logger, metrics, onChange };
  const writer = await openLogWriter(options);
  const reader = await openLogReader({ directory, losses: new LossReport({ logger: quiet }) });
  const kept: string[] = [];
  const refused: string[] = [];
  const append = (text: string) =>
    writer.append(text).then(
      () => void kept.push(text),
      (error) => {
        expect(error).toBeInstanceOf(LogUnavailable);
        refused.push(text);
      },
    );

  // The lock, and the segment twice.
  const most = 3;
  expect(openFiles(mounted)).toBeLessThanOrEqual(most);
  for (let round = 0; round < 3; round++) {
    const ballast = join(mounted, "ballast");
    writeFileSync(ballast, Buffer.alloc(5 << 20));
    for (let i = 0; refused.length < (round + 1) * 40; i++) {
      await Promise.all(
        Array.from({ length: 20 }, (_, j) => append(`${round} ${i} ${j} `.padEnd(5000, "x"))),
      );
    }
    expect([writer.healthy(), toldHealth]).toEqual([false, false]);
    expect(lines.filter(({ level }) => level >= 50).length).toBe(round + 1);
    expect(await metricValue(metrics, "pixelmill_log_healthy_ratio")).toBe(0);
    // Attempts that fail keep nothing open.
    const refusedBefore = refused.length;
    while (refused.length < refusedBefore + 3) {
      await Bun.sleep(300);
      await append("x".repeat(5_000));
    }
    expect(openFiles(mounted)).toBeLessThanOrEqual(most);
    // Freed space alone makes it healthy: a server that is not ready gets no traffic.
    rmSync(ballast);
    const position = writer.durable();
    await until(() => writer.healthy());
    expect(toldHealth).toBe(true);
    expect(writer.durable()).toBe(position);
    // The attempt that succeeded has taken back what it wrote to try the disk.
    expect(statSync(listSegments(directory).at(-1)!.path).size).toBe(0);
    await append(`round ${round} is over`);
    expect(kept.at(-1)).toBe(`round ${round} is over`);
    expect(await metricValue(metrics, "pixelmill_log_healthy_ratio")).toBe(1);
    // Attempts leave no segment behind that holds nothing.
    const sizes = listSegments(directory).map(({ path }) => statSync(path).size);
    expect(sizes.filter((size) => size === 0)).toEqual([]);
    reader.advance(writer.durable());
    expect((await readAll(reader)).map(([, text]) => text)).toEqual(kept);
    // Room for the next round.
    await reader.trim(writer.durable());
    kept.splice(0, kept.length, ...(await readAll(reader)).map(([, text]) => text));
  }

  // Refused records are none that could be missed.
  const again = await openLogReader({ directory, losses: new LossReport({ logger }) });
  again.advance(writer.durable());
  expect((await readAll(again)).map(([, text]) => text)).toEqual(kept);
  const told = lines.filter(({ level }) => level >= 50).map(({ msg }) => msg);
  expect(told).toEqual(Array(3).fill("event log cannot be written"));
  const rejected = await metricValue(metrics, "pixelmill_log_rejected_records_total");
  expect(rejected).toBe(refused.length);

  const durable = writer.durable();
  await writer.close();
  const reopened = await openTextWriter(directory);
  expect(reopened.durable()).toBe(durable);
  await reopened.close();
}

test("no other record gets the numbers of refused records", async () => {
  const child = spawnWithFileLimit(4096);
  const outcome: Outcome = JSON.parse(await new Response(child.stdout).text());
  expect(await child.exited).toBe(0);
  expect(outcome.healthy).toBe(true);
  const losses = new LossReport({ logger: quiet });
  const reader = await openLogReader({ directory: child.directory, losses });
  reader.advance(outcome.durable);
  const read = await readAll(reader);
  // Refused records count neither as missing nor as damaged.
  expect(losses.warnings()).toEqual([]);
  expect(read.map(([, text]) => text)).toEqual(outcome.acknowledged);
  const numbers = new Set(read.map(([sequence]) => sequence));
  expect(numbers.size).toBe(read.length);
  const unused = outcome.durable - numbers.size;
  expect(unused).toBeGreaterThan(0);
  expect(unused).toBeLessThanOrEqual(outcome.refused.length);
  expect(listSegments(child.directory).length).toBeGreaterThan(1);
});

test("a writer closed while its disk fails does not probe the disk again", async () => {
  const directory = temporaryDirectory();
  const writer = await openTextWriter(directory, { segmentBytesMax: 1 });
  await writer.append("kept");
  rmSync(directory, { recursive: true });
  // An attempt to go on has ended, and the next one is due in a while.
  for (let error: unknown; !(error instanceof LogUnavailable) || error.cause !== undefined; ) {
    error = await writer.append("refused").catch((error) => error);
  }
  await writer.close();
  mkdirSync(directory);
  await holds(600, () => expect(readdirSync(directory)).toEqual([]));
});

/**
 * A writer whose files cannot grow beyond a size: every segment ends in a short or failed write.
 */
function spawnWithFileLimit(blocks: number) {
  const directory = temporaryDirectory();
  const script = join(import.meta.dir, "limited-writer.ts");
  // `ulimit -f` counts blocks of 512 or 1024 bytes, as the shell likes; SIGXFSZ must not kill.
  const shell = `trap '' XFSZ; ulimit -f ${blocks}; exec "$@"`;
  const command = ["sh", "-c", shell, "sh", process.execPath, script, directory];
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "inherit" });
  return Object.assign(child, { directory });
}
