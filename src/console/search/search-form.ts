/** What can be looked for, as the API calls it. */
export const searchFields = [
  { value: "userId", text: "User id" },
  { value: "anonymousId", text: "Anonymous id" },
  { value: "messageId", text: "Message id" },
  { value: "event", text: "Event name" },
] as const;
export type SearchKey = (typeof searchFields)[number]["value"];

/** What the reader looks for, as the screen's address has it; an empty text asks for nothing. */
export interface SearchForm {
  by: SearchKey;
  text: string;
  sourceId: string;
  /** Times of the reader's zone, as a field for them has them. */
  from: string;
  to: string;
}

export function readSearchForm(query: URLSearchParams): SearchForm {
  const by = searchFields.find(({ value }) => value === query.get("by"))?.value ?? "userId";
  const of = (name: string) => query.get(name) ?? "";
  return { by, text: of("text"), sourceId: of("sourceId"), from: of("from"), to: of("to") };
}

/** The question as the API takes it. */
export function searchQuery({ by, text, sourceId, from, to }: SearchForm) {
  const wanted = text.trim();
  return {
    ...(wanted !== "" && { [by]: wanted }),
    ...(sourceId !== "" && { sourceId }),
    ...timeParameter("from", from),
    ...timeParameter("to", to),
  };
}

function timeParameter(name: "from" | "to", local: string): { from?: string; to?: string } {
  const time = new Date(local).getTime();
  return Number.isNaN(time) ? {} : { [name]: new Date(time).toISOString() };
}
