/** This file has functions for filter forms, which keep their values in the page's address. */

/** Reads form values from the query of the page's address. A value that it lacks is empty. */
export function readValues<Name extends string>(
  query: URLSearchParams,
  names: readonly Name[],
): Record<Name, string> {
  const values = names.map((name) => [name, query.get(name) ?? ""]);
  return Object.fromEntries(values) as Record<Name, string>;
}

/** Range of local times such as `2026-02-16T21:30`, unbounded where `from` or `to` is empty. */
interface LocalTimeRange {
  from: string;
  to: string;
}

/**
 * Returns the query parameters `from` and `to` for an API request, converted to UTC. Leaves out an
 * empty or invalid time.
 */
export function timeParameters({ from, to }: LocalTimeRange): { from?: string; to?: string } {
  return { ...timeParameter("from", from), ...timeParameter("to", to) };
}

function timeParameter(name: "from" | "to", local: string): { from?: string; to?: string } {
  const time = new Date(local).getTime();
  return Number.isNaN(time) ? {} : { [name]: new Date(time).toISOString() };
}
