import { assert } from "../../assert.ts";
import type { CatalogPage } from "../../catalog/model.ts";
import { PAGE_ITEMS_MAX } from "../../settings/limits.ts";

/**
 * Returns the `paging` object of a list: the number of all items and, if there is a next page, its
 * address with the request's other query parameters (`filter`). `path` must not begin with `/v2` if
 * clients append it to a base URL that ends with `/v2`.
 */
export function pagingOf(
  path: string,
  page: number,
  { items, total }: CatalogPage<unknown>,
  filter: Record<string, boolean | string | undefined> = {},
) {
  assert(
    items.length <= Math.min(PAGE_ITEMS_MAX, total),
    "A page has at most PAGE_ITEMS_MAX items, and not more than there are",
  );
  if (page * PAGE_ITEMS_MAX >= total) return { total };
  const query = new URLSearchParams({ page: String(page + 1) });
  for (const [key, value] of Object.entries(filter)) {
    if (value !== undefined) query.set(key, String(value));
  }
  return { total, next: `${path}?${query}` };
}
