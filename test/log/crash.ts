/**
 * Crash rounds: a real writer process is killed under load, and what it acknowledged is compared
 * with what the log holds after recovery. `crash.test.ts` runs a few, `crash-long.ts` many.
 */

import { appendFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HEADER_BYTES, sealBlock } from "../../src/log/block.ts";
import type { LogReader } from "../../src/log/event-log.ts";
import { LossReport } from "../../src/log/loss-report.ts";
import { openLogReader } from "../../src/log/reader.ts";
import { listSegments } from "../../src/log/segment/segments.ts";
import { openLogWriter } from "../../src/log/writer.ts";
import { listeningLogger, textCodec, until } from "./support.ts";

export const CLIENTS = 32;
/** Small, so that segments roll under the kill. */
export const SEGMENT_BYTES_MAX = 1 << 20;
/** Short, so that segments also roll because they are old. */
export const SEGMENT_MS_MAX = 30;

/**
 * The record that a client appends as its nth in a round: 10 to 3,000 bytes, the same each time.
 */
export function recordText(round: number, client: number, n: number): string {
  const name = `${round} ${client} ${n} `;
  return name.padEnd(10 + (Bun.hash.crc32(name) % 2990), name);
}

export interface Tally {
  rounds: number;
  acknowledged: number;
  /** Appended, not acknowledged when the kill came, and found after. */
  kept: number;
  /** Appended, not acknowledged when the kill came, and not found. */
  gone: number;
  cutTails: number;
  rolled: number;
}

/** Runs rounds in a directory; throws at the first record that is lost, invented or changed. */
export async function crashRounds(directory: string, rounds: number): Promise<Tally> {
  const tally = { rounds, acknowledged: 0, kept: 0, gone: 0, cutTails: 0, rolled: 0 };
  let position = 0;
  for (let round = 0; round < rounds; round++) {
    const acknowledged = await runUntilKilled(directory, round);
    // Every other round the tail is also torn as a power cut would tear it.
    if (round % 2 === 1) tearTail(directory);
    position = await judge(directory, round, position, acknowledged, tally);
  }
  return tally;
}

/** The last acknowledged number of each client, or -1. */
async function runUntilKilled(directory: string, round: number): Promise<number[]> {
  const told = `${directory}.told`;
  writeFileSync(told, "");
  const script = join(import.meta.dir, "crash-writer.ts");
  const child = Bun.spawn([process.execPath, script, directory, String(round), told], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  // Most rounds die under load, some while the process starts and recovers.
  const duringStart = round % 8 === 7;
  if (!duringStart) await until(() => statSync(told).size > 0 || child.exitCode !== null);
  await Bun.sleep(Math.random() * (duringStart ? 100 : 200));
  child.kill("SIGKILL");
  await child.exited;
  if (child.signalCode !== "SIGKILL") throw new Error("The writer ended before it was killed");

  const acknowledged = Array<number>(CLIENTS).fill(-1);
  // A line without its end was cut by the kill: that client's number is not told whole.
  for (const line of readFileSync(told, "utf8").split("\n").slice(0, -1)) {
    const [client, n] = line.split(" ").map(Number) as [number, number];
    if (n !== acknowledged[client]! + 1) throw new Error(`Client ${client} jumped to ${n}`);
    acknowledged[client] = n;
  }
  if (!duringStart && Math.max(...acknowledged) < 0) throw new Error("Vacuous: nothing was kept");
  return acknowledged;
}

function tearTail(directory: string): void {
  const newest = listSegments(directory).at(-1);
  if (newest === undefined) return;
  const buffer = Buffer.alloc(HEADER_BYTES + 5000, 7);
  sealBlock(buffer, buffer.length, Number.MAX_SAFE_INTEGER - 10, 1);
  const cut = 1 + Math.floor(Math.random() * (buffer.length - 1));
  appendFileSync(newest.path, buffer.subarray(0, cut));
}

/** Compares what a round left with what it acknowledged; returns where the next one starts. */
async function judge(
  directory: string,
  round: number,
  position: number,
  acknowledged: number[],
  tally: Tally,
): Promise<number> {
  const { logger, lines } = listeningLogger();
  const writer = await openLogWriter({ directory, codec: textCodec, logger });
  const reader = await openLogReader({ directory, losses: new LossReport({ logger }) });
  const end = writer.durable();
  reader.advance(end);
  tally.rolled += listSegments(directory).length - 1;
  const found = await readRound(reader, round, position);
  for (const [client, last] of acknowledged.entries()) {
    const extra = found[client]! - last;
    if (extra < 0) throw new Error(`Round ${round}: client ${client} lost ${-extra} records`);
    if (extra > 1) throw new Error(`Round ${round}: client ${client} has ${extra} unasked records`);
    tally.acknowledged += last + 1;
    tally.kept += extra;
    tally.gone += 1 - extra;
  }
  for (const { msg } of lines) {
    if (msg !== "torn tail cut from the event log") throw new Error(`Round ${round}: ${msg}`);
    tally.cutTails++;
  }
  await reader.trim(end);
  await writer.close();
  return end;
}

/** The last number of each client; every record must be the expected one, without gap or repeat. */
async function readRound(reader: LogReader, round: number, start: number): Promise<number[]> {
  const found = Array<number>(CLIENTS).fill(-1);
  let position = start;
  while (position < reader.end()) {
    const { records } = await reader.read(position, 1 << 20);
    for (const { sequence, bytes } of records) {
      if (sequence !== position++) throw new Error(`Round ${round}: a gap before ${sequence}`);
      const text = Buffer.from(bytes).toString();
      const client = Number(text.split(" ", 2)[1]);
      found[client]!++;
      if (text !== recordText(round, client, found[client]!)) {
        throw new Error(`Round ${round}: record ${sequence} is not the one that was appended`);
      }
    }
  }
  return found;
}

/** Throws when a run proves nothing. */
export function refuseVacuous(tally: Tally): void {
  const { rounds, acknowledged, kept, gone, cutTails, rolled } = tally;
  const enough = acknowledged > rounds * 100 && gone > 0 && cutTails >= rounds / 2 - 1;
  if (!enough || kept + gone < rounds || rolled === 0) {
    throw new Error(`Vacuous: ${JSON.stringify(tally)}`);
  }
}
