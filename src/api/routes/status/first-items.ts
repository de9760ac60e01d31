import { OVERVIEW_ITEMS_MAX, PAGE_ITEMS_MAX } from "../../../settings/limits.ts";

/**
 * Returns the items of a list, up to the maximum number for one overview, and the total number of
 * items.
 */
export function firstItems<T>(list: (page: number) => { items: T[]; total: number }) {
  const items: T[] = [];
  let total = 0;
  for (let page = 1; items.length < OVERVIEW_ITEMS_MAX; page += 1) {
    const found = list(page);
    total = found.total;
    items.push(...found.items);
    if (found.items.length < PAGE_ITEMS_MAX) break;
  }
  return { items, total };
}
