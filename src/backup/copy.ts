import type { Key } from "lmdb";
import { assert } from "../assert.ts";
import type { Live } from "../catalog/live.ts";
import type { Connection } from "../catalog/model.ts";
import { defined } from "../defined.ts";
import { StartError } from "../errors.ts";
import type { Positions } from "../log/positions.ts";
import { LetterTables } from "../pipeline/ledger/letter-tables.ts";
import type { RequeuedLetter, StoredLetter } from "../pipeline/model/dead-letter.ts";
import type { LaneRecord } from "../pipeline/model/lane-record.ts";
import { COMPACTION_TABLE, POSITION_TABLE } from "../store/ordered/compaction-progress.ts";
import { encodeValue } from "../store/row-write.ts";
import type { LocalStore, Store } from "../store/store.ts";
import type { Table } from "../store/table.ts";
import { cursorOf, type UnsettledKeys } from "./unsettled.ts";

/**
 * Events that were copied into one event log of the new server or cluster. `keys` and `sequences`
 * have one item per event, in the order of the new log.
 */
export interface CopiedEvents {
  /** Key of each event (see `UnsettledEvent.key`): the place of the event in the old logs. */
  keys: string[];
  /** Sequence number of each event in the new log. */
  sequences: number[];
  /** Sequence number in the new log that follows the last copied event. */
  end: number;
}

/** Approximate number of bytes that one transaction of the copy writes to the new store. */
const PORTION_BYTES = 256 << 10;
/**
 * Maximum number of events in the list `pending` of a destination's cursor (position in a log): the
 * undelivered events before the last delivered one. The copy fails if there are more.
 */
const PENDING_MAX = 100_000;

/**
 * Writes each row with `put`, in a transaction of the store that `to` returns for the row. A
 * transaction writes about `PORTION_BYTES`. Returns the number of rows.
 */
async function copyRows<T>(
  rows: Iterable<T>,
  { to, bytesOf, put }: { to(row: T): Store; bytesOf(row: T): number; put(row: T): void },
): Promise<number> {
  const portions = new Map<Store, { rows: T[]; bytes: number }>();
  let count = 0;
  let written = 0;
  const flush = async (store: Store, portion: T[]) => {
    portions.delete(store);
    await store.change(() => portion.forEach(put));
    written += portion.length;
  };
  for (const row of rows) {
    const store = to(row);
    const portion = portions.getOrInsert(store, { rows: [], bytes: 0 });
    portion.rows.push(row);
    portion.bytes += bytesOf(row);
    count += 1;
    if (portion.bytes >= PORTION_BYTES) await flush(store, portion.rows);
  }
  for (const [store, portion] of [...portions]) await flush(store, portion.rows);
  assert(written === count, "A copy writes as many rows as it read");
  return count;
}

/**
 * Table that the copy of a catalog writes last. Until then, the new catalog counts as empty, so
 * that an interrupted copy can be repeated.
 */
const WORKSPACES = "workspaces";

/**
 * Copies all rows of a catalog except rows about the state of its store. Makes each connection
 * deliver from the beginning of the new logs, and a paused connection only up to their ends
 * (`ends`).
 */
export async function copyCatalog(from: LocalStore, to: Store, ends: Positions): Promise<void> {
  const apart = [POSITION_TABLE, COMPACTION_TABLE, WORKSPACES];
  const names = from.tables().filter((name) => !apart.includes(name));
  for (const name of [...names, WORKSPACES]) {
    const rows = from.table<unknown, Key>(name).getRange({});
    const table = to.table<unknown, Key>(name);
    await copyRows(rows, {
      to: () => to,
      bytesOf: ({ value }) => encodeValue(value).length,
      put({ key, value }) {
        if (name === WORKSPACES) expectOnlyCopies(table, from);
        table.put(key, name === "connections" ? inNewLogs(value, ends) : value);
      },
    });
  }
}

/**
 * Throws `StartError` if the new catalog has a workspace that the old one (`from`) lacks. Such a
 * workspace was created by a node that ran during the import.
 */
function expectOnlyCopies(workspaces: Table<unknown, Key>, from: LocalStore): void {
  const known = from.table<unknown, Key>(WORKSPACES);
  for (const key of workspaces.getKeys({})) {
    if (known.doesExist(key)) continue;
    throw new StartError("Expected no node to run meanwhile, but one has created a workspace");
  }
}

function inNewLogs(value: unknown, ends: Positions): Connection {
  const { until, earlier: _, ...connection } = value as Connection;
  return { ...connection, from: {}, ...(until !== undefined && { until: ends }) };
}

/**
 * Stores, for each new log, the cursor (position) of each destination. The cursor says which copied
 * events are not yet delivered to the destination.
 */
export async function writeLaneCursors(
  live: Live,
  unsettled: UnsettledKeys,
  placed: ReadonlyMap<string, CopiedEvents>,
  ledgerOf: (log: string) => Store,
): Promise<void> {
  for (const [log, { keys, sequences, end }] of placed) {
    const store = ledgerOf(log);
    const lanes = store.table<LaneRecord, string>("lanes");
    const records = live.lanes().map(({ destination, connections }) => {
      const owed = unsettled.get(destination.id) ?? new Set();
      const cursor = cursorOf(keys, sequences, owed, end);
      if (cursor.pending.length > PENDING_MAX) {
        const debt = `more than ${PENDING_MAX} undelivered events before its last delivered one`;
        throw new StartError(`Destination ${destination.id} has ${debt}; let it catch up first`);
      }
      const known = Object.fromEntries(connections.map(({ id }) => [id, {}]));
      return { id: destination.id, record: { logs: { [log]: cursor }, known } };
    });
    await copyRows(records, {
      to: () => store,
      bytesOf: ({ record }) => encodeValue(record).length,
      put: ({ id, record }) => lanes.put(id, record),
    });
  }
}

/**
 * Copies the dead letters (events that were given up) with the stored responses of receivers, and
 * the dead letters that are being replayed. Returns the number of copied dead letters.
 */
export async function copyDeadLetters(
  from: Store,
  ledgerOf: (letter: StoredLetter) => Store,
): Promise<number> {
  const { groups } = new LetterTables(from);
  const opened = new Map<Store, LetterTables>();
  const tablesOf = (letter: StoredLetter) =>
    opened.getOrInsertComputed(ledgerOf(letter), (store) => new LetterTables(store));
  const letters = await copyRows(from.table<StoredLetter, Key>("letters").getRange({}), {
    to({ value }) {
      tablesOf(value);
      return ledgerOf(value);
    },
    bytesOf: ({ value }) => sizeOf(value),
    put({ value }) {
      const { response } = groups.detailsOf(value);
      // A sample is the response to another dead letter, and is copied with that dead letter.
      tablesOf(value).put(response?.isSample ? value : { ...value, ...defined({ response }) });
    },
  });
  const replays = await copyRows(from.table<RequeuedLetter, Key>("replays").getRange({}), {
    to({ value }) {
      const store = ledgerOf(value.letter);
      store.table("replays");
      return store;
    },
    bytesOf: ({ value }) => sizeOf(value.letter),
    put: ({ key, value }) =>
      ledgerOf(value.letter).table<RequeuedLetter, Key>("replays").put(key, value),
  });
  return letters + replays;
}

const sizeOf = ({ text, original = "" }: StoredLetter) => text.length + original.length;
