import { assert } from "../../assert.ts";
import { ApiError } from "../../errors.ts";
import { PAGE_ITEMS_MAX } from "../../settings/limits.ts";
import { isId } from "../ids.ts";
import type { CatalogPage } from "../model.ts";
import { type CatalogStore, LAST } from "../store.ts";
import { externalIdIndex } from "./external-id-index.ts";

type Key = [workspaceId: string, id: string];

/**
 * Table of items that belong to workspaces. Finds an item by id, and lists a workspace's items in
 * the order of creation.
 */
export interface WorkspaceTable<T> {
  /** Returns the item with this id, of any workspace. Undefined when there is none. */
  find(id: string): T | undefined;
  /**
   * Returns an item. Throws `missing` when the item does not exist or belongs to another workspace.
   */
  get(workspaceId: string, id: string): T;
  /** Returns one page of a workspace's items. The first page is 1. */
  list(workspaceId: string, page: number): CatalogPage<T>;
  /** Iterates over a workspace's items. Items that are removed meanwhile are left out. */
  each(workspaceId: string): Iterable<T>;
  /** Returns those of a workspace's items that have one of the ids. */
  withIds(workspaceId: string, ids: readonly string[]): T[];
  /** Returns the number of a workspace's items. Takes time in proportion to that number. */
  count(workspaceId: string): number;
  all(): T[];
  /** Stores an item. Only called inside a transaction. */
  put(item: T): void;
  remove(item: T): void;
}

/**
 * Table of items that may have an external id, which an external tool such as Terraform gave them.
 */
interface ManagedTable<T> extends WorkspaceTable<T> {
  /**
   * Returns one page of a list of items. With `marked` true, the list has only items with an
   * external id; with false, only items without; with undefined, all items.
   */
  list(workspaceId: string, page: number, marked?: boolean): CatalogPage<T>;
  /** Returns the id of the item of this table that has an external id; undefined when none has. */
  owner(workspaceId: string, externalId: string): string | undefined;
}

/** Returns the methods of a table that read it. */
export function readsOf<T>({ get, list, each, withIds, count }: ManagedTable<T>) {
  return { get, list, each, withIds, count };
}

type OwnerKey = [table: string, workspaceId: string, externalId: string];

export function managedTable<T extends { id: string; workspaceId: string; externalId?: string }>(
  store: CatalogStore,
  name: string,
  noun: string,
): ManagedTable<T> {
  const items = workspaceTable<T>(store, name, noun);
  const marks = externalIdIndex(store, name);
  const owners = store.table<string, OwnerKey>("external-ids");
  const ownerKey = ({ workspaceId, externalId = "" }: T): OwnerKey => [
    name,
    workspaceId,
    externalId,
  ];

  function releaseExternalId(item: T | undefined): void {
    if (item?.externalId === undefined || owners.get(ownerKey(item)) !== item.id) return;
    owners.remove(ownerKey(item));
  }

  return {
    ...items,
    owner: (workspaceId, externalId) => owners.get([name, workspaceId, externalId]),
    list(workspaceId, page, marked) {
      if (marked === undefined) return items.list(workspaceId, page);
      const { ids, total } = marks.page(workspaceId, marked, page);
      return { items: ids.map(items.find).filter((item) => item !== undefined), total };
    },
    put(item) {
      const before = items.find(item.id);
      if (before?.externalId !== item.externalId) releaseExternalId(before);
      items.put(item);
      marks.put(item);
      // An older release let several items have one external id. The first one keeps it.
      if (item.externalId !== undefined && owners.get(ownerKey(item)) === undefined) {
        owners.put(ownerKey(item), item.id);
      }
    },
    remove(item) {
      items.remove(item);
      marks.remove(item);
      releaseExternalId(item);
    },
  };
}

/**
 * Opens a table of items. `name` is the table's name; `noun` names an item in error messages, as in
 * `Source not found`.
 */
export function workspaceTable<T extends { id: string; workspaceId: string }>(
  store: CatalogStore,
  name: string,
  noun: string,
): WorkspaceTable<T> {
  const items = store.table<T, string>(name);
  const order = store.table<true, Key>(`${name}-order`);
  const key = (workspaceId: string, id: string): Key => [workspaceId, id];

  function find(id: string): T | undefined {
    return isId(id) ? items.get(id) : undefined;
  }

  const rangeOf = (workspaceId: string) => ({
    start: key(workspaceId, ""),
    end: key(workspaceId, LAST),
  });

  return {
    find,
    get(workspaceId, id) {
      const item = find(id);
      if (item?.workspaceId !== workspaceId) throw new ApiError("missing", `${noun} not found`);
      return item;
    },
    list(workspaceId, page) {
      const range = rangeOf(workspaceId);
      const offset = (page - 1) * PAGE_ITEMS_MAX;
      const keys = [...order.getKeys({ ...range, offset, limit: PAGE_ITEMS_MAX })];
      const found = keys.map(([, id]) => items.get(id)).filter((item) => item !== undefined);
      const total = order.getKeysCount(range);
      assert(found.length <= Math.max(0, total - offset), "A list has all items of its pages");
      return { items: found, total };
    },
    *each(workspaceId) {
      // The keys are collected first: nothing else may run while a cursor is open.
      for (const [, id] of [...order.getKeys(rangeOf(workspaceId))]) {
        const item = items.get(id);
        if (item !== undefined) yield item;
      }
    },
    withIds: (workspaceId, ids) =>
      ids.map(find).filter((item) => item?.workspaceId === workspaceId) as T[],
    count: (workspaceId) => order.getKeysCount(rangeOf(workspaceId)),
    all: () => [...items.getRange({})].map(({ value }) => value),
    put(item) {
      items.put(item.id, item);
      order.put([item.workspaceId, item.id], true);
    },
    remove(item) {
      items.remove(item.id);
      order.remove([item.workspaceId, item.id]);
    },
  };
}
