/**
 * Finds the sequence number of the first record at or after a given time. The log does not decode
 * records, so the caller passes a function that returns the time of a record. Times ascend, unless
 * the clock was set back.
 */

import type { LogReader } from "./event-log.ts";

/**
 * Returns the time of an encoded record, in any unit. Returns NaN for a record without a time; the
 * search skips such records.
 */
export type TimeOf = (record: Uint8Array) => number;

/**
 * Searches the records at and after `position` for the first one that has a time, and returns this
 * time. Returns undefined if none of them has a time.
 */
export async function firstTime(
  reader: LogReader,
  timeOf: TimeOf,
  position: number = reader.first(),
): Promise<number | undefined> {
  return (await timesFrom(reader, position, timeOf))[0]?.time;
}

/**
 * Returns the sequence number of the first record whose time is at least `time`, or of a record
 * without a time just before it. Returns the log's end if all records are older.
 *
 * If the clock was set back by `d`, all records below the returned number are older than `time +
 * d`, and none of the others is older than `time - d`.
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

/**
 * Searches the records from `low` (inclusive) to `high` (exclusive) for the first one whose time is
 * at least `time`. Returns its sequence number, or `high` if there is none.
 */
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

/**
 * Searches the blocks from `position` for the first one in which a record has a time. Returns the
 * sequence numbers and times of that block's records that have a time; an empty list if there is no
 * such block.
 */
async function timesFrom(reader: LogReader, position: number, timeOf: TimeOf) {
  for (let at = position; at < reader.end(); ) {
    const { records, next } = await reader.read(at, 1);
    const times = records
      .map(({ sequence, bytes }) => ({ sequence, time: timeOf(bytes) }))
      .filter(({ time }) => !Number.isNaN(time));
    if (times.length > 0) return times;
    if (next <= at) break;
    at = next;
  }
  return [];
}
