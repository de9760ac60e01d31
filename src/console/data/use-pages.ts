import { useEffect, useRef, useState } from "preact/hooks";
import { useRetry } from "./retry.ts";

/** An answer with one page of items. A request with its `cursor` gets the next page. */
interface Page {
  cursor?: string;
}

interface PagesState<T, Answer> {
  /** Items of all loaded pages. Undefined until the first answer. */
  items?: readonly T[];
  last?: Answer;
  error?: unknown;
}

/** A filtered list that is loaded one page at a time, newest items first. */
export interface Pages<T, Answer> extends PagesState<T, Answer> {
  /** Loads the first page again. */
  restart(): void;
  /** Loads the next page, which has older items. Resolves once they are in `items`. */
  loadOlder(): Promise<void>;
}

/**
 * Component state for a filtered list. Loads the first page when the form changes, and again after
 * a temporary failure. `request` requests the page after `cursor`, and `itemsOf` returns an
 * answer's items.
 */
export function usePages<Answer extends Page, T>(
  form: object,
  request: (cursor: { cursor?: string }) => Promise<Answer>,
  itemsOf: (answer: Answer) => readonly T[],
): Pages<T, Answer> {
  const [state, setState] = useState<PagesState<T, Answer>>({});
  const [attempt, setAttempt] = useState(0);
  const key = JSON.stringify([form, attempt]);
  const latestKey = useRef(key);
  latestKey.current = key;

  async function load({ items = [], last }: PagesState<T, Answer>): Promise<void> {
    const cursor = last?.cursor;
    const answer = await request(cursor === undefined ? {} : { cursor });
    if (latestKey.current !== key) return;
    setState({ items: [...items, ...itemsOf(answer)], last: answer });
  }

  const loadFirst = () =>
    load({}).catch((error: unknown) => {
      if (latestKey.current === key) setState({ error });
    });
  useEffect(() => {
    setState({});
    void loadFirst();
  }, [key]);
  useRetry(state.error, loadFirst);

  return { ...state, restart: () => setAttempt(attempt + 1), loadOlder: () => load(state) };
}
