import { useEffect, useRef, useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { client } from "../data/session.ts";
import { type SearchForm, searchQuery } from "./search-form.ts";

type SearchAnswer = AnswerOf<"GET /v2/events/search">;
export type FoundEvent = SearchAnswer["events"][number];

export interface SearchResult {
  /** Undefined until the first answer. */
  events: readonly FoundEvent[] | undefined;
  /** The last answer, which says how far the search came. */
  last: SearchAnswer | undefined;
  error: unknown;
  restart(): void;
  /** Goes on where the last answer stopped; resolves when the answer is shown. */
  loadOlder(): Promise<void>;
}

interface SearchState {
  events?: readonly FoundEvent[];
  last?: SearchAnswer;
  error?: unknown;
}

/** Asks once for each question; what it finds later stands below what it found before. */
export function useSearch(question: SearchForm): SearchResult {
  const [state, setState] = useState<SearchState>({});
  const [attempt, setAttempt] = useState(0);
  const key = JSON.stringify([question, attempt]);
  const latest = useRef(key);
  latest.current = key;

  async function ask(before: SearchState): Promise<void> {
    const { events = [], last } = before;
    const cursor = last?.cursor;
    const query = { ...searchQuery(question), ...(cursor !== undefined && { cursor }) };
    const answer = await client.call("GET /v2/events/search", { query });
    if (latest.current !== key) return;
    setState({ events: [...events, ...answer.events], last: answer });
  }

  useEffect(() => {
    setState({});
    ask({}).catch((error: unknown) => {
      if (latest.current === key) setState({ error });
    });
  }, [key]);

  return {
    events: state.events,
    last: state.last,
    error: state.error,
    restart: () => setAttempt(attempt + 1),
    loadOlder: () => ask(state),
  };
}
