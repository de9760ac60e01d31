import { STATUS_ITEMS_MAX } from "../../settings/limits.ts";
import {
  type ListQuery,
  matching,
  pageOf,
  type SearchedItem,
  type Slicing,
  sortRows,
} from "./list-query.ts";

interface StatePage<State> {
  rows: readonly State[];
  /** Number of rows on all pages. */
  total: number;
  /**
   * States of the items that were measured because they match the search text, before the request's
   * filter and order apply. Undefined for a list by name, which measures only the items of the
   * page.
   */
  measured?: readonly State[];
  /**
   * Ids, each once, of the nodes that did not answer about a row or about a state in `measured`.
   */
  missingNodes: string[];
}

interface StateListQuery extends ListQuery {
  text?: string;
  sort?: string;
}

/**
 * States of items. They lack what the nodes `missingNodes` know, because these nodes did not
 * answer.
 */
interface Measured<State> {
  states: readonly State[];
  missingNodes: readonly string[];
}

interface StateList<Item, State> extends Slicing {
  /** All stored items of the workspace, such as its destinations. */
  items: Iterable<Item>;
  /**
   * Resolves with the states of all items, if the server computes them once for several requests of
   * the workspace. Otherwise resolves with undefined.
   */
  all(): Promise<Measured<State> | undefined>;
  /** Asks the nodes for the states of `items`. Returns the states in the order of the items. */
  measure(items: readonly Item[]): Promise<Measured<State>>;
  /**
   * Returns the states in the order that the request asks for, and only those that pass its filter.
   */
  arrange(measured: readonly State[]): State[];
  /** Whether the request asks for items in certain states only, such as failing ones. */
  isFiltered?: boolean;
}

/**
 * Returns a page of the states of the items that match the search text `query.text`. Measures (asks
 * the nodes for) as few states as possible.
 *
 * A list by name measures only the items of the page. A list that is sorted or filtered by state
 * uses the states from `all`. If `all` resolves with undefined, the list measures only the first
 * `STATUS_ITEMS_MAX` matches. A list with a filter then leaves out further matches. A list without
 * a filter shows them after the measured ones, and measures them only if they are on the page.
 */
export async function measuredPage<Item extends SearchedItem, State extends SearchedItem>(
  query: StateListQuery,
  { items, all, slices, signal, measure, arrange, isFiltered = false }: StateList<Item, State>,
): Promise<StatePage<State>> {
  const isMatch = matching(query.text);
  const isByName = !isFiltered && (query.sort === "name" || query.sort === "-name");
  const known = isByName ? undefined : await all();
  if (known !== undefined) {
    const measured = known.states.filter(isMatch);
    const arranged = arrange(measured);
    const missingNodes = [...known.missingNodes];
    return { rows: pageOf(arranged, query), total: arranged.length, measured, missingNodes };
  }
  const matches: Item[] = [];
  await slices.each(items, (item) => isMatch(item) && matches.push(item), signal);
  if (isByName) {
    sortRows(matches, query.sort, { name: ({ name }) => name });
    const { states, missingNodes } = await measure(pageOf(matches, query));
    return { rows: states, total: matches.length, missingNodes: [...missingNodes] };
  }
  const first = await measure(matches.slice(0, STATUS_ITEMS_MAX));
  const rest = isFiltered ? [] : matches.slice(STATUS_ITEMS_MAX);
  const arranged = arrange(first.states);
  const page = pageOf<State | Item>([...arranged, ...rest], query);
  const unmeasured = new Set<State | Item>(rest);
  const late = page.filter((it) => unmeasured.has(it)) as Item[];
  const second = late.length === 0 ? undefined : await measure(late);
  const rows = page.filter((it) => !unmeasured.has(it)) as State[];
  return {
    rows: [...rows, ...(second?.states ?? [])],
    total: arranged.length + rest.length,
    measured: first.states,
    missingNodes: [...new Set([...first.missingNodes, ...(second?.missingNodes ?? [])])],
  };
}
