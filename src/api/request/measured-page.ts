import { STATUS_ITEMS_MAX } from "../../settings/limits.ts";
import { matching, pageOf, type Slicing, sortRows } from "./list-query.ts";

interface NamedItem {
  id: string;
  name: string;
}

interface StateListQuery {
  page?: number;
  count?: number;
  text?: string;
  sort?: string;
}

interface StateList<Item, State> extends Slicing {
  /** All stored items of the workspace, such as its destinations. */
  items: Iterable<Item>;
  /**
   * Resolves with the states of all items, if the workspace's requests share one computed state
   * that has all items. Otherwise resolves with undefined.
   */
  all(): Promise<readonly State[] | undefined>;
  /** Asks the nodes for the state of these items. Returns the states in the order of the items. */
  measure(items: readonly Item[]): Promise<readonly State[]>;
  /** Selects and sorts the states that the request asks for. */
  arrange(measured: readonly State[]): State[];
  /** Whether the request asks only for items in certain states, such as failing ones. */
  isFiltered?: boolean;
}

/**
 * Returns a page of the states of the items that match the search text `query.text`. Measures (asks
 * the nodes for) as few states as possible.
 *
 * A list by name measures only the items of the page. A list that is sorted or filtered by state
 * uses the states from `all`. If `all` has none, the list measures the first `STATUS_ITEMS_MAX`
 * matches. With a filter, the list leaves out further matches. Without a filter, further matches
 * follow the measured ones, and are measured only if they are on the page.
 *
 * The result's field `measured` has the states that were sorted or filtered. It is absent in a list
 * by name.
 */
export async function measuredPage<Item extends NamedItem, State extends NamedItem>(
  query: StateListQuery,
  { items, all, slices, signal, measure, arrange, isFiltered = false }: StateList<Item, State>,
): Promise<{ rows: readonly State[]; total: number; measured?: readonly State[] }> {
  const isMatch = matching(query.text);
  const isByName = !isFiltered && (query.sort === "name" || query.sort === "-name");
  const known = isByName ? undefined : await all();
  if (known !== undefined) {
    const measured = known.filter(isMatch);
    const arranged = arrange(measured);
    return { rows: pageOf(arranged, query), total: arranged.length, measured };
  }
  const matches: Item[] = [];
  await slices.each(items, (item) => isMatch(item) && matches.push(item), signal);
  if (isByName) {
    sortRows(matches, query.sort, { name: ({ name }) => name });
    return { rows: await measure(pageOf(matches, query)), total: matches.length };
  }
  const measured = await measure(matches.slice(0, STATUS_ITEMS_MAX));
  const rest = isFiltered ? [] : matches.slice(STATUS_ITEMS_MAX);
  const arranged = arrange(measured);
  const page = pageOf<State | Item>([...arranged, ...rest], query);
  const unmeasured = new Set<State | Item>(rest);
  const late = await measureSome(page.filter((it) => unmeasured.has(it)) as Item[], measure);
  const rows = page.filter((it) => !unmeasured.has(it)) as State[];
  return { rows: [...rows, ...late], total: arranged.length + rest.length, measured };
}

/** Asks the nodes for the states of the items. If there are no items, asks no node. */
async function measureSome<Item, State>(
  items: readonly Item[],
  measure: (items: readonly Item[]) => Promise<readonly State[]>,
): Promise<readonly State[]> {
  return items.length === 0 ? [] : await measure(items);
}
