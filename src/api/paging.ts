import type { Page } from "../catalog/catalog.ts";
import { PAGE_ITEMS_MAX } from "../limits.ts";

/** `path` is the list's, without `/v2`: RudderStack's clients put their base address before it. */
export function pagingOf(path: string, page: number, { total }: Page<unknown>) {
  const more = page * PAGE_ITEMS_MAX < total;
  return { total, ...(more && { next: `${path}?page=${page + 1}` }) };
}
