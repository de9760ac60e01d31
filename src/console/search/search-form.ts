/** Event fields that the API searches. */
export const searchFields = [
  { value: "userId", text: "User id" },
  { value: "anonymousId", text: "Anonymous id" },
  { value: "messageId", text: "Message id" },
  { value: "event", text: "Event name" },
] as const;

/** Texts of the search fields, as the screen's address has them; an empty text does not filter. */
export interface SearchForm {
  by: (typeof searchFields)[number]["value"];
  text: string;
  sourceId: string;
  /** Local time, in the format of a `datetime-local` input. */
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

/** Query of the API's search. */
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
