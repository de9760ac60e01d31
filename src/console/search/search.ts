import { useEffect, useRef, useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { client } from "../session.ts";
import { asked, type Question } from "./question.ts";

type Answer = AnswerOf<"GET /v2/events/search">;
export type FoundEvent = Answer["events"][number];

export interface Searching {
  /** Undefined until the first answer. */
  events: readonly FoundEvent[] | undefined;
  /** The last answer, which says how far the search came. */
  last: Answer | undefined;
  error: unknown;
  again(): void;
  /** Goes on where the last answer stopped; resolves when the answer is shown. */
  goOn(): Promise<void>;
}

interface State {
  events?: readonly FoundEvent[];
  last?: Answer;
  error?: unknown;
}

/** Asks once for each question; what it finds later stands below what it found before. */
export function useSearch(question: Question): Searching {
  const [state, setState] = useState<State>({});
  const [attempt, setAttempt] = useState(0);
  const key = JSON.stringify([question, attempt]);
  const latest = useRef(key);
  latest.current = key;

  async function ask(before: State): Promise<void> {
    const { events = [], last } = before;
    const cursor = last?.cursor;
    const query = { ...asked(question), ...(cursor !== undefined && { cursor }) };
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
    again: () => setAttempt(attempt + 1),
    goOn: () => ask(state),
  };
}
