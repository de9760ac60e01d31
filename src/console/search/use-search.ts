import type { AnswerOf } from "../../api/client.ts";
import { client } from "../data/session.ts";
import { type Pages, usePages } from "../data/use-pages.ts";
import { type SearchForm, searchQuery } from "./search-form.ts";

type SearchAnswer = AnswerOf<"GET /v2/events/search">;
export type FoundEvent = SearchAnswer["events"][number];

/** Found events. The `reachedAt` of `last` is the time of the oldest event that the search has read. */
export type EventSearch = Pages<FoundEvent, SearchAnswer>;

/** Starts a search whenever the form changes. `loadOlder` appends older events to the result. */
export const useSearch = (form: SearchForm): EventSearch =>
  usePages(
    form,
    (cursor) =>
      client.call("GET /v2/events/search", { query: { ...searchQuery(form), ...cursor } }),
    ({ events }) => events,
  );
