/** An answer with one page of a list. */
interface ListPage {
  paging: { total: number; next?: string };
}

/**
 * Maximum number of pages that `allPages` loads. If the list has more, the `total` that `allPages`
 * returns is larger than the number of items that it returns.
 */
const PAGES_MAX = 10;

/**
 * Loads the items of the first `PAGES_MAX` pages of a list. `load` requests a page by its number,
 * and `itemsOf` returns the items of an answer.
 */
export async function allPages<Answer extends ListPage, Item>(
  load: (page: number) => Promise<Answer>,
  itemsOf: (answer: Answer) => readonly Item[],
): Promise<{ items: readonly Item[]; total: number }> {
  const items: Item[] = [];
  for (let page = 1; ; page++) {
    const answer = await load(page);
    items.push(...itemsOf(answer));
    const { next, total } = answer.paging;
    if (next === undefined || page === PAGES_MAX) return { items, total };
  }
}
