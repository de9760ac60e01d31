import { assert } from "../../assert.ts";
import type { Positions } from "../../log/positions.ts";
import type { Connection } from "../model.ts";

/**
 * Maximum number of earlier live windows that a connection stores. A live window is a range of log
 * positions whose events the connection delivers. Pausing a connection ends its window, and
 * resuming it begins a new one.
 */
export const CONNECTION_WINDOWS_MAX = 16;

/**
 * Live windows: the ranges of log positions whose events a connection delivers. While the
 * connection is live, its window begins at `from` and has no end. When it is paused, the window
 * ends at `until`. The functions are pure.
 */

type Window = NonNullable<Connection["earlier"]>[number];

/**
 * Starts or ends a connection's live window (the range of log positions that it delivers) at
 * `logEnds`, the current ends of the event logs. Returns the same object when nothing changes.
 */
export function setLive(connection: Connection, live: boolean, logEnds: Positions): Connection {
  if (live === (connection.until === undefined)) return connection;
  if (!live) return { ...connection, until: logEnds };
  const { until, ...rest } = connection;
  const after: Connection = { ...rest, from: logEnds, ...earlierOf(connection, until) };
  assert(
    (after.earlier ?? []).length <= CONNECTION_WINDOWS_MAX,
    "A connection has at most CONNECTION_WINDOWS_MAX earlier windows",
  );
  return after;
}

/**
 * Returns the first live window (range of log positions to deliver) of a connection that is new, or
 * that was changed to another source or destination. The window is empty when the connection is not
 * live.
 */
export function newWindow(live: boolean, logEnds: Positions): Pick<Connection, "from" | "until"> {
  return live ? { from: logEnds } : { from: logEnds, until: logEnds };
}

/**
 * Returns an object with the new value of `earlier`: the connection's earlier live windows (ranges
 * of log positions to deliver), then the window that ended at `until`. Returns an empty object,
 * which changes nothing, if that window is empty.
 */
function earlierOf(connection: Connection, until: Positions | undefined) {
  if (until === undefined || isEmpty(connection.from, until)) return {};
  return {
    earlier: mergeOldest([...(connection.earlier ?? []), { from: connection.from, until }]),
  };
}

/**
 * Merges the two oldest live windows (ranges of log positions to deliver) when there are more than
 * `CONNECTION_WINDOWS_MAX`. Events from the pause between the two windows may then be delivered.
 */
function mergeOldest(windows: readonly Window[]): readonly Window[] {
  if (windows.length <= CONNECTION_WINDOWS_MAX) return windows;
  const [first, second, ...rest] = windows;
  return [{ from: first!.from, until: second!.until }, ...rest];
}

function isEmpty(from: Positions, until: Positions): boolean {
  return Object.entries(until).every(([directory, end]) => end <= (from[directory] ?? 0));
}
