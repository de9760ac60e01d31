/** What can be looked for, as the API calls it. */
export const keys = [
  { value: "userId", text: "User id" },
  { value: "anonymousId", text: "Anonymous id" },
  { value: "messageId", text: "Message id" },
  { value: "event", text: "Event name" },
] as const;
export type Key = (typeof keys)[number]["value"];

/** What the reader looks for, as the screen's address has it; an empty text asks for nothing. */
export interface Question {
  by: Key;
  text: string;
  sourceId: string;
  /** Times of the reader's zone, as a field for them has them. */
  from: string;
  to: string;
}

export function questionOf(query: URLSearchParams): Question {
  const by = keys.find(({ value }) => value === query.get("by"))?.value ?? "userId";
  const of = (name: string) => query.get(name) ?? "";
  return { by, text: of("text"), sourceId: of("sourceId"), from: of("from"), to: of("to") };
}

/** The question as the API takes it. */
export function asked({ by, text, sourceId, from, to }: Question) {
  const wanted = text.trim();
  return {
    ...(wanted !== "" && { [by]: wanted }),
    ...(sourceId !== "" && { sourceId }),
    ...timeOf("from", from),
    ...timeOf("to", to),
  };
}

function timeOf(name: "from" | "to", local: string): { from?: string; to?: string } {
  const time = new Date(local).getTime();
  return Number.isNaN(time) ? {} : { [name]: new Date(time).toISOString() };
}
