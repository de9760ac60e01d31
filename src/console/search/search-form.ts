import type { AnswerOf } from "../../api/client.ts";
import { optionsByValue } from "../components/forms/fields.tsx";
import { readValues, timeParameters } from "../data/address-form.ts";
import { client } from "../data/session.ts";
import { usePages } from "../data/use-pages.ts";
import { hrefTo } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { searchTexts } from "../texts/search.ts";

/** Event fields by which the API can search, each with its label in the form. */
export const searchFields = [
  { value: "userId", text: commonTexts.userId },
  { value: "anonymousId", text: searchTexts.anonymousId },
  { value: "messageId", text: commonTexts.messageId },
  { value: "event", text: searchTexts.eventName },
  { value: "property", text: commonTexts.property },
  { value: "text", text: commonTexts.anyText },
] as const;

/**
 * Values of the search form. An empty value does not filter. `outcome` finds the events that have
 * this outcome at some destination or, if it is `refused`, the events that the server did not
 * accept.
 */
export type SearchForm = ReturnType<typeof readSearchForm>;

export function readSearchForm(query: URLSearchParams) {
  const by = searchFields.find(({ value }) => value === query.get("by"))?.value ?? "userId";
  return { by, ...readValues(query, ["text", "sourceId", "outcome", "from", "to"]) };
}

/** Converts the form's values to the query parameters of the API request. */
export function searchQuery({ by, text, sourceId, outcome, from, to }: SearchForm) {
  const value = text.trim();
  return {
    ...(value !== "" && { [by]: value }),
    ...(sourceId !== "" && { sourceId }),
    ...(isOutcome(outcome) && { outcome }),
    ...(outcome === REFUSED && { refused: true }),
    ...timeParameters({ from, to }),
  };
}

/**
 * Returns a link to the form for a new replay of the events that the search finds. Returns
 * undefined if the search has a condition that replays do not offer, because the replay would send
 * other events too.
 */
export function replayHref({ by, text, sourceId, outcome, from, to }: SearchForm) {
  const value = text.trim();
  const hasField = by !== "anonymousId" && by !== "messageId";
  if (outcome !== "" || (value !== "" && !hasField)) return undefined;
  return hrefTo("replays", "new", { sourceId, from, to, [by]: value });
}

/** Value of the outcome field that finds events refused at ingestion. */
const REFUSED = "refused";

type Outcome = keyof typeof searchTexts.outcomes;

function isOutcome(text: string): text is Outcome {
  return Object.hasOwn(searchTexts.outcomes, text);
}

/** Options of the field that selects an outcome. */
export const outcomeOptions = [
  { value: "", text: commonTexts.allOutcomes },
  ...optionsByValue(searchTexts.outcomes),
  { value: REFUSED, text: commonTexts.refused },
];

type SearchAnswer = AnswerOf<"GET /v2/events/search">;
export type FoundEvent = SearchAnswer["events"][number];

/**
 * Hook that loads the found events page by page. It starts again when the form's values change.
 * `loadOlder` of the result loads the next page.
 */
export const useSearch = (form: SearchForm) =>
  usePages(
    form,
    (cursor) =>
      client.call("GET /v2/events/search", { query: { ...searchQuery(form), ...cursor } }),
    ({ events }) => events,
  );
