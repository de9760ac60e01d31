import type { AnswerOf } from "../../api/client.ts";
import { client } from "../data/session.ts";
import { usePages } from "../data/use-pages.ts";
import { type SearchForm, searchQuery } from "./search-form.ts";

type SearchAnswer = AnswerOf<"GET /v2/events/search">;
export type FoundEvent = SearchAnswer["events"][number];

/** Starts a search whenever the form changes. `loadOlder` appends older events to the result. */
export const useSearch = (form: SearchForm) =>
  usePages(
    form,
    (cursor) =>
      client.call("GET /v2/events/search", { query: { ...searchQuery(form), ...cursor } }),
    ({ events }) => events,
  );
