import type { Page } from "../../catalog/catalog.ts";
import { PAGE_ITEMS_MAX } from "../../settings/limits.ts";

/**
 * The paging object of a list. `path` is the list's path without `/v2`, since RudderStack's clients
 * put their base address before it. `filter` holds the request's other parameters, so that the next
 * page is of the same list.
 */
export function pagingOf(
  path: string,
  page: number,
  { total }: Page<unknown>,
  filter: Record<string, boolean | undefined> = {},
) {
  if (page * PAGE_ITEMS_MAX >= total) return { total };
  const query = new URLSearchParams({ page: String(page + 1) });
  for (const [key, value] of Object.entries(filter)) {
    if (value !== undefined) query.set(key, String(value));
  }
  return { total, next: `${path}?${query}` };
}
