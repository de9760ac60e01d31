/** Event fields by which the API can search, with their labels. */
export const searchFields = [
  { value: "userId", text: "User id" },
  { value: "anonymousId", text: "Anonymous id" },
  { value: "messageId", text: "Message id" },
  { value: "event", text: "Event name" },
] as const;

/**
 * Values of the search form, as in the query of the page's address. An empty value does not filter.
 */
export interface SearchForm {
  by: (typeof searchFields)[number]["value"];
  text: string;
  sourceId: string;
  /** Start of the time range in local time, in the format of a `datetime-local` input. */
  from: string;
  to: string;
}

export function readSearchForm(query: URLSearchParams): SearchForm {
  const by = searchFields.find(({ value }) => value === query.get("by"))?.value ?? "userId";
  const read = (name: string) => query.get(name) ?? "";
  return {
    by,
    text: read("text"),
    sourceId: read("sourceId"),
    from: read("from"),
    to: read("to"),
  };
}

/** Returns the query parameters of a search request to the API. */
export function searchQuery({ by, text, sourceId, from, to }: SearchForm) {
  const value = text.trim();
  return {
    ...(value !== "" && { [by]: value }),
    ...(sourceId !== "" && { sourceId }),
    ...timeParameter("from", from),
    ...timeParameter("to", to),
  };
}

function timeParameter(name: "from" | "to", local: string): { from?: string; to?: string } {
  const time = new Date(local).getTime();
  return Number.isNaN(time) ? {} : { [name]: new Date(time).toISOString() };
}
