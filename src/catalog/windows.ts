import type { Connection, Positions } from "./model.ts";

/** Earlier live windows that a connection keeps apart when it is paused again and again. */
export const CONNECTION_WINDOWS_MAX = 16;

/**
 * Which events a connection routes: those from `from` on while it is live, and those before
 * `until` once it is not. Pure.
 */

type Window = NonNullable<Connection["earlier"]>[number];

/** A connection as it is when it starts or stops being live at `logEnds`; unchanged when it does neither. */
export function turned(connection: Connection, live: boolean, logEnds: Positions): Connection {
  if (live === (connection.until === undefined)) return connection;
  if (!live) return { ...connection, until: logEnds };
  const { until, ...rest } = connection;
  return { ...rest, from: logEnds, ...earlierOf(connection, until) };
}

/** A new connection; one that is not live yet routes nothing. */
export function opened(live: boolean, logEnds: Positions): Pick<Connection, "from" | "until"> {
  return live ? { from: logEnds } : { from: logEnds, until: logEnds };
}

/** What was accepted before a pause is still owed after it. */
function earlierOf(connection: Connection, until: Positions | undefined) {
  if (until === undefined || isEmpty(connection.from, until)) return {};
  return { earlier: bounded([...(connection.earlier ?? []), { from: connection.from, until }]) };
}

/**
 * The two oldest windows become one when there are too many: what came in the pause between them
 * may be delivered then, but nothing that is owed is forgotten.
 */
function bounded(windows: readonly Window[]): readonly Window[] {
  const [first, second, ...rest] = windows;
  if (windows.length <= CONNECTION_WINDOWS_MAX || !first || !second) return windows;
  return [{ from: first.from, until: second.until }, ...rest];
}

function isEmpty(from: Positions, until: Positions): boolean {
  return Object.entries(until).every(([directory, end]) => end <= (from[directory] ?? 0));
}
