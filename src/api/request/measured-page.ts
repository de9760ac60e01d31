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
  /** Stored items of the workspace. */
  items: Iterable<Item>;
  /** Returns the state of all items, if it is available already. */
  all(): Promise<readonly State[] | undefined>;
  /** Returns the state of some items, in the same order. */
  measure(items: readonly Item[]): Promise<readonly State[]>;
  /** Returns the measured items that are listed, in the order of the list. */
  arrange(measured: readonly State[]): State[];
  /** Whether the list has only items in some state. */
  isFiltered?: boolean;
}

/**
 * Returns a page of the items that match a text. A list by name measures only the items of its page.
 * Other lists measure all matches, up to `STATUS_ITEMS_MAX`; further items come last, and are
 * measured for their page. `measured` has all items that were measured to arrange them.
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

/** Asks no node when there is nothing to measure. */
async function measureSome<Item, State>(
  items: readonly Item[],
  measure: (items: readonly Item[]) => Promise<readonly State[]>,
): Promise<readonly State[]> {
  return items.length === 0 ? [] : await measure(items);
}
