import { useRef, useState } from "preact/hooks";
import { useResource } from "./use-resource.ts";

/** An answer with one page of items. A request with its `cursor` gets the next page. */
interface Page {
  cursor?: string;
}

/**
 * Component state for a filtered list that is loaded page by page, newest items first. A change of
 * `form` (the filter's values) loads the first page again. `request` without a cursor requests the
 * first page.
 */
export function usePages<Answer extends Page, T>(
  form: object,
  request: (cursor: Page) => Promise<Answer>,
  itemsOf: (answer: Answer) => readonly T[],
) {
  const [attempt, setAttempt] = useState(0);
  const { value: first, error } = useResource(() => request({}), [form, attempt]);
  /** Pages from `loadOlder`, with the first page in front. Empty until `loadOlder` loads a page. */
  const [loaded, setLoaded] = useState<readonly Answer[]>([]);
  const latestFirst = useRef(first);
  latestFirst.current = first;
  // Pages that were loaded after an earlier first page are not those of this list.
  const answers = loaded[0] === first ? loaded : [first].filter((it) => it !== undefined);
  const last = answers.at(-1);
  return {
    /** Items of all loaded pages. Undefined until the first answer. */
    items: first && answers.flatMap(itemsOf),
    last,
    error,
    /** Loads the first page again. */
    restart: () => setAttempt(attempt + 1),
    /** Loads the next page, which has older items. Resolves once they are in `items`. */
    async loadOlder(): Promise<void> {
      const cursor = last?.cursor;
      const answer = await request(cursor === undefined ? {} : { cursor });
      if (latestFirst.current === first) setLoaded([...answers, answer]);
    },
  };
}
