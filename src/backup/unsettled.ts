import type { Live } from "../catalog/live.ts";
import { StartError } from "../errors.ts";
import { decodeRecord } from "../event/record.ts";
import type { LogReader } from "../log/event-log.ts";
import type { CursorRecord, LaneRecord } from "../pipeline/model/lane-record.ts";
import { createRoutes } from "../pipeline/model/routes.ts";
import { LaneReader } from "../pipeline/reading/lane-reader.ts";
import type { LogSet } from "../pipeline/reading/shared-reader.ts";

/** An event that is not delivered to all of its destinations. */
interface UnsettledEvent {
  /**
   * Identifies the event by the name of its log and its sequence number in this log.
   * `UnsettledKeys` contains these keys.
   */
  key: string;
  receivedAt: number;
  /** The event's record, encoded as in the log. */
  bytes: Uint8Array;
}

/** Keys of the events that still wait for delivery to a destination, by the destination's id. */
export type UnsettledKeys = Map<string, Set<string>>;

const TAKE_EVENTS = 1_000;
const TAKE_BYTES = 16 << 20;
const READ_BYTES = 4 << 20;

const keyOf = (log: string, sequence: number) => `${log} ${sequence}`;

/**
 * Adds to `unsettled`, by destination, the keys of the events in `logs` that are not delivered to
 * the destination. Throws `StartError` if a newer version of pixelmill has stored events that this
 * version cannot read.
 */
export async function addUnsettledKeys(
  unsettled: UnsettledKeys,
  { live, logs, lane }: { live: Live; logs: LogSet; lane(id: string): LaneRecord | undefined },
): Promise<void> {
  for (const { destination, connections } of live.lanes()) {
    const owed = unsettled.getOrInsertComputed(destination.id, () => new Set());
    const routes = createRoutes(destination, connections);
    const reader = new LaneReader(logs, routes, lane(destination.id));
    for (;;) {
      const items = await reader.take(TAKE_EVENTS, TAKE_BYTES);
      if (items.length === 0) break;
      for (const { origin } of items) {
        if (!("requeued" in origin)) owed.add(keyOf(origin.log, origin.sequence));
      }
    }
    if (reader.held.size > 0) {
      throw new StartError(
        `Expected events that this version reads, but a newer version of pixelmill stored some in the event log ${[...reader.held.keys()].join(", ")}; use the executable of that version`,
      );
    }
  }
}

/**
 * Yields the events that are not delivered to all of their destinations, in the order in which the
 * server received them.
 */
export async function* unsettledEvents(
  readers: ReadonlyMap<string, LogReader>,
  unsettled: UnsettledKeys,
): AsyncGenerator<UnsettledEvent> {
  const all = new Set([...unsettled.values()].flatMap((owed) => [...owed]));
  const logs = [...readers].map(([log, reader]) => eventsOf(log, reader, all));
  const advance = async (log: AsyncGenerator<UnsettledEvent>) => {
    const { value, done } = await log.next();
    return done ? [] : [{ log, event: value }];
  };
  let heads = (await Promise.all(logs.map(advance))).flat();
  while (heads.length > 0) {
    const next = heads.reduce((one, other) =>
      other.event.receivedAt < one.event.receivedAt ? other : one,
    );
    yield next.event;
    heads = [...heads.filter((it) => it !== next), ...(await advance(next.log))];
  }
}

async function* eventsOf(
  log: string,
  reader: LogReader,
  owed: ReadonlySet<string>,
): AsyncGenerator<UnsettledEvent> {
  for (let at = reader.first(); at < reader.end(); ) {
    const { records, next } = await reader.read(at, READ_BYTES);
    for (const { sequence, bytes } of records) {
      const key = keyOf(log, sequence);
      if (!owed.has(key)) continue;
      const { receivedAt } = decodeRecord(bytes);
      yield { key, receivedAt, bytes: Uint8Array.from(bytes) };
    }
    if (next <= at) return;
    at = next;
  }
}

/**
 * Returns the cursor (position) of a destination in a new log. The event `next` and all later ones
 * are undelivered; `pending` lists earlier undelivered events.
 * - `keys`, `sequences`: key and sequence number of each copied event
 * - `owed`: keys of the events that are not delivered to the destination
 * - `end`: sequence number after the last copied event
 */
export function cursorOf(
  keys: readonly string[],
  sequences: readonly number[],
  owed: ReadonlySet<string>,
  end: number,
): CursorRecord {
  let from = keys.length;
  while (from > 0 && owed.has(keys[from - 1]!)) from -= 1;
  const pending = keys.flatMap((key, at) => (at < from && owed.has(key) ? [sequences[at]!] : []));
  return { next: from === keys.length ? end : sequences[from]!, pending };
}
