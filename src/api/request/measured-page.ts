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
   * States of all items that match the search text, whether or not they pass the state filter; at
   * most `STATUS_ITEMS_MAX` if `all` resolved with undefined. Absent for a list sorted by name
   * without a state filter.
   */
  measured?: readonly State[];
  /**
   * Ids of the nodes that did not answer when the states of `rows` or `measured` were requested.
   * Each id is listed once.
   */
  missingNodes: string[];
}

interface StateListQuery extends ListQuery {
  text?: string;
  sort?: string;
}

/**
 * States of items, merged from the nodes that answered. The nodes in `missingNodes` did not answer,
 * so the states lack what only these nodes know.
 */
interface Measured<State> {
  states: readonly State[];
  missingNodes: readonly string[];
}

interface StateList<Item, State> extends Slicing {
  /** All stored items of the workspace, such as its destinations. */
  items: Iterable<Item>;
  /**
   * Resolves with the states of all items of the workspace, if they are kept for several requests.
   * Resolves with undefined if they are not: the caller then asks for states with `measure`.
   */
  all(): Promise<Measured<State> | undefined>;
  /** Asks the nodes for the states of `items`. Returns the states in the order of the items. */
  measure(items: readonly Item[]): Promise<Measured<State>>;
  /** Applies the request's filter and order: returns the states that pass the filter, sorted. */
  arrange(measured: readonly State[]): State[];
  /** Whether the request asks for items in certain states only, such as failing ones. */
  isFiltered?: boolean;
}

/**
 * Returns one page of the states of the items that match `query.text`. The list uses as few states
 * as possible:
 * - A list sorted by name without a state filter: only the states of the page's items.
 * - Any other list: the states from `all`.
 * - If `all` resolves with undefined: the states of the first `STATUS_ITEMS_MAX` matching items.
 *   Further items come last or, with a state filter, are left out.
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
