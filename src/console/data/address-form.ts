/** Forms whose values are in the query of the page's address. */

/** Returns the values with these names. An absent value is empty. */
export function readValues<Name extends string>(
  query: URLSearchParams,
  names: readonly Name[],
): Record<Name, string> {
  const values = names.map((name) => [name, query.get(name) ?? ""]);
  return Object.fromEntries(values) as Record<Name, string>;
}

/** A range of local times such as `2026-02-16T21:30`. An empty end does not bound it. */
export interface LocalTimeRange {
  from: string;
  to: string;
}

/** Returns the query parameters of a request for a range of time. */
export function timeParameters({ from, to }: LocalTimeRange): { from?: string; to?: string } {
  return { ...timeParameter("from", from), ...timeParameter("to", to) };
}

function timeParameter(name: "from" | "to", local: string): { from?: string; to?: string } {
  const time = new Date(local).getTime();
  return Number.isNaN(time) ? {} : { [name]: new Date(time).toISOString() };
}
