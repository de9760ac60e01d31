import { useEffect, useRef, useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { client } from "../data/session.ts";
import { type SearchForm, searchQuery } from "./search-form.ts";

type SearchAnswer = AnswerOf<"GET /v2/events/search">;
export type FoundEvent = SearchAnswer["events"][number];

interface SearchState {
  /** Events of all answers so far. Undefined until the first answer. */
  events?: readonly FoundEvent[];
  /** The last answer. Its `reachedAt` is the time of the oldest event that the search has read. */
  last?: SearchAnswer;
  error?: unknown;
}

export interface EventSearch extends SearchState {
  restart(): void;
  /**
   * Continues the search where the last answer stopped. Resolves when the older events are in
   * `events`.
   */
  loadOlder(): Promise<void>;
}

/** Starts a search whenever the form changes. `loadOlder` appends older events to the result. */
export function useSearch(form: SearchForm): EventSearch {
  const [state, setState] = useState<SearchState>({});
  const [attempt, setAttempt] = useState(0);
  const key = JSON.stringify([form, attempt]);
  const latestKey = useRef(key);
  latestKey.current = key;

  async function load(before: SearchState): Promise<void> {
    const { events = [], last } = before;
    const cursor = last?.cursor;
    const query = { ...searchQuery(form), ...(cursor !== undefined && { cursor }) };
    const answer = await client.call("GET /v2/events/search", { query });
    if (latestKey.current !== key) return;
    setState({ events: [...events, ...answer.events], last: answer });
  }

  useEffect(() => {
    setState({});
    load({}).catch((error: unknown) => {
      if (latestKey.current === key) setState({ error });
    });
  }, [key]);

  return { ...state, restart: () => setAttempt(attempt + 1), loadOlder: () => load(state) };
}
