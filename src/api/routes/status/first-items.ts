import { PAGE_ITEMS_MAX, STATUS_ITEMS_MAX } from "../../../settings/limits.ts";

/**
 * Returns the items of a list, up to the number that a workspace's state covers, and the total number of
 * items.
 */
export function firstItems<T>(list: (page: number) => { items: T[]; total: number }) {
  const items: T[] = [];
  let total = 0;
  for (let page = 1; items.length < STATUS_ITEMS_MAX; page += 1) {
    const found = list(page);
    total = found.total;
    items.push(...found.items);
    if (found.items.length < PAGE_ITEMS_MAX) break;
  }
  return { items, total };
}
