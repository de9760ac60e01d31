import { useEffect, useRef, useState } from "preact/hooks";
import { useRetry } from "./retry.ts";
import { client } from "./session.ts";
import { type NamedKind, useNames } from "./use-names.ts";

export interface Named {
  id: string;
  name: string;
}

/** A search of items by name: the items found so far, and functions to search and to load more. */
export type NameSearch = ReturnType<typeof useNameSearch>;

interface SearchState {
  /** Text that was searched to get `found`. It may be older than the text in the field. */
  text?: string;
  found?: readonly Named[];
  /** Number of pages in `found`. */
  pages: number;
  total: number;
  error?: unknown;
}

export type SearchedKind = NamedKind | "receiver";

const PAGE_ITEMS = 50;
/** Milliseconds without a key press after which the console sends the typed text to the server. */
const PAUSE_MS = 150;

/**
 * Component state for a search of items by name. The server searches all items of the kind, and
 * returns the matching ones in pages.
 */
export function useNameSearch(kind: SearchedKind) {
  const [text, setText] = useState("");
  const [state, setState] = useState<SearchState>({ pages: 0, total: 0 });
  const [all, setAll] = useState<number>();
  const lookup = useNames();
  /** Names of all items that were ever found, by id. `found` may lack the item that is selected. */
  const seen = useRef(new Map<string, string>());
  const latestPage = useRef(0);
  const latest = useRef(text);
  latest.current = text;

  async function load(page: number): Promise<void> {
    latestPage.current = page;
    try {
      const { names, total } = await namesOf(kind, { text, page, count: PAGE_ITEMS });
      if (latest.current !== text) return;
      for (const { id, name } of names) seen.current.set(id, name);
      setState((before) => {
        if (page === 1) return { text, total, pages: 1, found: names };
        // The user may have asked for this page twice.
        if (before.text !== text || before.pages !== page - 1) return before;
        return { text, total, pages: page, found: [...(before.found ?? []), ...names] };
      });
      if (text === "") setAll(total);
    } catch (error) {
      if (latest.current === text) setState((before) => ({ ...before, error }));
    }
  }

  useEffect(() => {
    const timer = setTimeout(() => void load(1), text === "" ? 0 : PAUSE_MS);
    return () => clearTimeout(timer);
  }, [kind, text]);
  useRetry(state.error, () => load(latestPage.current));

  return {
    /** The loaded items whose names match the text. Undefined until the first answer. */
    found: state.found,
    /** Number of items whose names match the text, loaded or not. */
    total: state.total,
    /** Whether `found` is the result for the latest text. */
    isCurrent: state.text === text,
    /** Number of all items of the kind. Undefined until a search without a text is answered. */
    all,
    error: state.error,
    /**
     * Returns the name of the item with this id, even if the search did not find the item. Returns
     * the id while the name is not loaded.
     */
    nameOf: (id: string) => seen.current.get(id) ?? (kind === "receiver" ? id : lookup[kind](id)),
    search: setText,
    loadMore: () => void load(state.pages + 1),
  };
}

async function namesOf(kind: SearchedKind, query: { text: string; page: number; count: number }) {
  if (kind !== "receiver") {
    return await client.call("GET /v2/status/names", { query: { ...query, kind } });
  }
  // A workspace has so few that one page lists them all.
  const { receivers, paging } = await client.call("GET /v2/alerts/receivers");
  return { names: receivers, total: paging.total };
}
