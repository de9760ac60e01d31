import { assert } from "../../assert.ts";
import { ApiError } from "../../errors.ts";
import { PAGE_ITEMS_MAX } from "../../settings/limits.ts";
import type { Managed } from "../external-id.ts";
import { isId } from "../ids.ts";
import type { CatalogPage } from "../model.ts";
import { type CatalogStore, keysBelow } from "../store.ts";

type Key = [workspaceId: string, id: string];

/** Returns the methods of a table that read items, without those that change them. */
export function readsOf<T extends Managed>(table: ReturnType<typeof managedTable<T>>) {
  const { get, list, each, withIds, count } = table;
  return { get, list, each, withIds, count };
}

type PresenceKey = [workspaceId: string, mark: "marked" | "unmarked", id: string];
type OwnerKey = [table: string, workspaceId: string, externalId: string];

/**
 * Opens a table of items that may have an external id: an id given by an external tool such as
 * Terraform. The parameters are those of `workspaceTable`.
 */
export function managedTable<T extends Managed>(store: CatalogStore, name: string, noun: string) {
  const items = workspaceTable<T>(store, name, noun);
  const byPresence = store.table<true, PresenceKey>(`${name}-by-mark`);
  const owners = store.table<string, OwnerKey>("external-ids");
  const presenceOf = (hasExternalId: boolean) => (hasExternalId ? "marked" : "unmarked");

  function presenceKey({ workspaceId, id }: T, hasExternalId: boolean): PresenceKey {
    return [workspaceId, presenceOf(hasExternalId), id];
  }

  function ownerKey({ workspaceId, externalId = "" }: T): OwnerKey {
    return [name, workspaceId, externalId];
  }

  function releaseExternalId(item: T | undefined): void {
    if (item?.externalId === undefined || owners.get(ownerKey(item)) !== item.id) return;
    owners.remove(ownerKey(item));
  }

  return {
    ...items,
    /**
     * Returns the id of the item in this table that has the external id. Returns undefined when no
     * item has it.
     */
    owner: (workspaceId: string, externalId: string) => owners.get([name, workspaceId, externalId]),
    /**
     * Returns one page of a workspace's items, and the number of items on all pages.
     * `hasExternalId` selects the items with (true) or without (false) an external id, or all items
     * (undefined).
     */
    list(workspaceId: string, page: number, hasExternalId?: boolean): CatalogPage<T> {
      if (hasExternalId === undefined) return items.list(workspaceId, page);
      const range = keysBelow(workspaceId, presenceOf(hasExternalId));
      const keys = [...byPresence.getKeys({ ...range, ...boundsOf(page) })];
      const found = keys.map(([, , id]) => items.find(id)).filter((item) => item !== undefined);
      return { items: found, total: byPresence.getKeysCount(range) };
    },
    put(item: T): void {
      const before = items.find(item.id);
      if (before?.externalId !== item.externalId) releaseExternalId(before);
      items.put(item);
      const hasExternalId = item.externalId !== undefined;
      byPresence.put(presenceKey(item, hasExternalId), true);
      byPresence.remove(presenceKey(item, !hasExternalId));
      // An older release let several items have one external id. The first one keeps it.
      if (hasExternalId && owners.get(ownerKey(item)) === undefined)
        owners.put(ownerKey(item), item.id);
    },
    remove(item: T): void {
      items.remove(item);
      byPresence.remove(presenceKey(item, true));
      byPresence.remove(presenceKey(item, false));
      releaseExternalId(item);
    },
  };
}

/** Returns the offset and the limit of a page of a list, in rows. The first page is 1. */
const boundsOf = (page: number) => ({ offset: (page - 1) * PAGE_ITEMS_MAX, limit: PAGE_ITEMS_MAX });

type WorkspaceItem = Omit<Managed, "externalId">;

export type WorkspaceTable<T extends WorkspaceItem> = ReturnType<typeof workspaceTable<T>>;

/**
 * Opens a table of items that belong to workspaces. Finds an item by id, and lists a workspace's
 * items in the order of creation. `noun` names an item in error messages, as in `Source not found`.
 */
export function workspaceTable<T extends WorkspaceItem>(
  store: CatalogStore,
  name: string,
  noun: string,
) {
  const items = store.table<T, string>(name);
  const order = store.table<true, Key>(`${name}-order`);

  function find(id: string): T | undefined {
    return isId(id) ? items.get(id) : undefined;
  }

  return {
    /** Returns the item with this id, whatever its workspace. Undefined when there is none. */
    find,
    /** Returns an item. Throws an `ApiError` of kind `missing` if it is not in this workspace. */
    get(workspaceId: string, id: string): T {
      const item = find(id);
      if (item?.workspaceId !== workspaceId) throw new ApiError("missing", `${noun} not found`);
      return item;
    },
    /**
     * Returns one page of a workspace's items, oldest first, and the number of items on all pages.
     * The first page is 1.
     */
    list(workspaceId: string, page: number): CatalogPage<T> {
      const range = keysBelow(workspaceId);
      const bounds = boundsOf(page);
      const keys = [...order.getKeys({ ...range, ...bounds })];
      const found = keys.map(([, id]) => items.get(id)).filter((item) => item !== undefined);
      const total = order.getKeysCount(range);
      assert(
        found.length <= Math.max(0, total - bounds.offset),
        "A list has all items of its pages",
      );
      return { items: found, total };
    },
    /**
     * Yields a workspace's items, oldest first. Skips items that are removed before the caller asks
     * for them.
     */
    *each(workspaceId: string): Iterable<T> {
      // The keys are collected first: nothing else may run while a cursor is open.
      for (const [, id] of [...order.getKeys(keysBelow(workspaceId))]) {
        const item = items.get(id);
        if (item !== undefined) yield item;
      }
    },
    /** Returns the items whose id is in `ids` and that belong to the workspace. */
    withIds: (workspaceId: string, ids: readonly string[]) =>
      ids.map(find).filter((item) => item?.workspaceId === workspaceId) as T[],
    /** Returns the number of a workspace's items. Takes time in proportion to that number. */
    count: (workspaceId: string) => order.getKeysCount(keysBelow(workspaceId)),
    all: () => [...items.getRange({})].map(({ value }) => value),
    /** Stores an item. Must be called inside a transaction. */
    put(item: T): void {
      items.put(item.id, item);
      order.put([item.workspaceId, item.id], true);
    },
    remove(item: T): void {
      items.remove(item.id);
      order.remove([item.workspaceId, item.id]);
    },
  };
}
