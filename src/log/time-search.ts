/**
 * Finds the position of a time in a log. The log does not decode records; the caller passes a
 * function that reads the time of one. Times ascend as long as the clock did.
 */

import type { LogReader, LogRecord } from "./event-log.ts";

/** The time of an encoded record, in any unit; NaN for a record without one, which is passed over. */
export type TimeOf = (record: Uint8Array) => number;

/** The time of the first record at `position` or after it; undefined when there is none. */
export async function firstTime(
  reader: LogReader,
  timeOf: TimeOf,
  position: number = reader.first(),
): Promise<number | undefined> {
  return (await timesFrom(reader, position, timeOf))[0]?.time;
}

/**
 * A position at which the records of `time` or later begin: the record before it is older than
 * `time`, and the one at it is not. The log's end when all records are older. Where the clock was
 * set back, by `d` at most, there may be several such positions; of whichever is found, the records
 * before it are older than `time + d`, and those from it on are not older than `time - d`. Reads a
 * few blocks, and walks through one part of the log at most.
 */
export async function positionAt(reader: LogReader, time: number, timeOf: TimeOf): Promise<number> {
  const end = reader.end();
  const starts = reader
    .parts()
    .map(({ first }) => first)
    .filter((first) => first < end);
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const startsAt = await firstTime(reader, timeOf, starts[middle]);
    if (startsAt !== undefined && startsAt < time) low = middle + 1;
    else high = middle;
  }
  const older = starts[low - 1];
  if (older === undefined) return starts[0] ?? end;
  return await search(reader, { low: older, high: starts[low] ?? end }, time, timeOf);
}

/** The position within `[low, high]`; a record at `low` is older than `time`, none at `high` is. */
async function search(
  reader: LogReader,
  { low, high }: { low: number; high: number },
  time: number,
  timeOf: TimeOf,
): Promise<number> {
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const times = await timesFrom(reader, middle, timeOf);
    const within = times.filter(({ sequence }) => sequence < high);
    const first = within[0];
    if (first === undefined || first.time >= time) {
      high = middle;
      continue;
    }
    const found = within.find((it) => it.time >= time);
    if (found !== undefined) return found.sequence;
    low = within.at(-1)!.sequence + 1;
  }
  return high;
}

interface TimedRecord {
  sequence: number;
  time: number;
}

/** The times of the first block with a record at `position` or after it; empty when there is none. */
async function timesFrom(
  reader: LogReader,
  position: number,
  timeOf: TimeOf,
): Promise<TimedRecord[]> {
  for (let at = position; at < reader.end(); ) {
    const { records, next } = await reader.read(at, 1);
    const times = records.map((it) => timed(it, timeOf)).filter(({ time }) => !Number.isNaN(time));
    if (times.length > 0) return times;
    if (next <= at) break;
    at = next;
  }
  return [];
}

const timed = ({ sequence, bytes }: LogRecord, timeOf: TimeOf): TimedRecord => {
  return { sequence, time: timeOf(bytes) };
};
