import { PAGE_ITEMS_MAX } from "../../settings/limits.ts";
import type { Managed } from "../external-id.ts";
import { type CatalogStore, keysBelow } from "../store.ts";

type Mark = "marked" | "unmarked";
type Key = [workspaceId: string, mark: Mark, id: string];

/**
 * Index of a workspace's items, in two groups: items with an external id, which an external tool
 * such as Terraform gave them, and items without one. Its method `page` lists the items of one
 * group.
 */
export function externalIdIndex(store: CatalogStore, name: string) {
  const order = store.table<true, Key>(`${name}-by-mark`);
  const key = ({ workspaceId, id }: Managed, mark: Mark): Key => [workspaceId, mark, id];
  return {
    /** Adds an item to the index or updates its entry. Only called inside a transaction. */
    put(item: Managed): void {
      const [mark, other]: [Mark, Mark] =
        item.externalId === undefined ? ["unmarked", "marked"] : ["marked", "unmarked"];
      order.put(key(item, mark), true);
      order.remove(key(item, other));
    },
    remove(item: Managed): void {
      order.remove(key(item, "marked"));
      order.remove(key(item, "unmarked"));
    },
    page(workspaceId: string, marked: boolean, page: number): { ids: string[]; total: number } {
      const mark = marked ? "marked" : "unmarked";
      const range = keysBelow(workspaceId, mark);
      const offset = (page - 1) * PAGE_ITEMS_MAX;
      const keys = order.getKeys({ ...range, offset, limit: PAGE_ITEMS_MAX });
      return { ids: [...keys].map(([, , id]) => id), total: order.getKeysCount(range) };
    },
  };
}
