import { assert } from "../../assert.ts";
import type { Positions } from "../../log/positions.ts";
import type { Connection } from "../model.ts";

/** Live windows that a connection keeps apart when it is paused again and again. */
export const CONNECTION_WINDOWS_MAX = 16;

/**
 * Live windows: a connection routes the events from `from` on while it is live, and those before
 * `until` once it is not. Pure.
 */

type Window = NonNullable<Connection["earlier"]>[number];

/**
 * The connection after it starts or stops being live at `logEnds`; the same object when `live` does
 * not change.
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

/** The window of a new connection; one that is not live routes nothing. */
export function newWindow(live: boolean, logEnds: Positions): Pick<Connection, "from" | "until"> {
  return live ? { from: logEnds } : { from: logEnds, until: logEnds };
}

/** Earlier windows, with the one that just ended: events accepted before a pause are still owed. */
function earlierOf(connection: Connection, until: Positions | undefined) {
  if (until === undefined || isEmpty(connection.from, until)) return {};
  return {
    earlier: mergeOldest([...(connection.earlier ?? []), { from: connection.from, until }]),
  };
}

/**
 * Merges the two oldest windows when there are more than CONNECTION_WINDOWS_MAX. Events of the
 * pause between them may then be delivered, but no owed event is lost.
 */
function mergeOldest(windows: readonly Window[]): readonly Window[] {
  if (windows.length <= CONNECTION_WINDOWS_MAX) return windows;
  const [first, second, ...rest] = windows;
  return [{ from: first!.from, until: second!.until }, ...rest];
}

function isEmpty(from: Positions, until: Positions): boolean {
  return Object.entries(until).every(([directory, end]) => end <= (from[directory] ?? 0));
}
