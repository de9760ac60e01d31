import { Type } from "@sinclair/typebox";
import type { CatalogPage } from "../../catalog/model.ts";
import type { TimeSlicer } from "../../concurrency/time-slicer.ts";
import {
  NAME_CHARS_MAX,
  PAGE_ITEMS_MAX,
  PAGE_MAX,
  STATUS_ITEMS_MAX,
  STATUS_PAGE_MAX,
} from "../../settings/limits.ts";
import { oneOf } from "../../settings/schema-types.ts";

/** This file has query parameters and functions of searched, sorted and paged lists. */

export const textQuery = {
  text: Type.Optional(
    Type.String({ maxLength: NAME_CHARS_MAX, description: "Part of a name, or an id" }),
  ),
};

export const searchedListQuery = {
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_MAX, default: 1 })),
  count: Type.Optional(Type.Integer({ minimum: 1, maximum: STATUS_PAGE_MAX, default: 50 })),
  ...textQuery,
};

export interface ListQuery {
  page?: number;
  count?: number;
}

export interface SearchedItem {
  id: string;
  name: string;
}

/**
 * Returns the schema of the query parameter that sorts a list: one of `keys`, with a `-` before it
 * for the reverse order. `otherwise` describes the order without the parameter.
 */
export const sortBy = <Key extends string>(keys: Record<Key, unknown>, otherwise: string) =>
  Type.Optional(
    oneOf(
      (Object.keys(keys) as Key[]).flatMap((key) => [key, `-${key}` as const]),
      { description: `With \`-\` in reverse; ${otherwise} if absent` },
    ),
  );

export function pageOf<T>(items: readonly T[], { page = 1, count = 50 }: ListQuery): T[] {
  return items.slice((page - 1) * count, page * count);
}

/** Returns a test of items: the name contains `text`, ignoring case, or the id equals `text`. */
export function matching(text = "") {
  const part = text.trim().toLowerCase();
  return ({ id, name }: SearchedItem) => name.toLowerCase().includes(part) || id === text.trim();
}

/** Options to divide work on a list into slices, between which the event loop does other work. */
export interface Slicing {
  slices: TimeSlicer;
  /** Aborted when the client disconnects. */
  signal: AbortSignal;
}

/** Items of one kind, such as sources. `list` returns a page of the items of a workspace. */
export interface ItemList<Item> {
  list(
    workspaceId: string,
    page: number,
    hasExternalId?: boolean,
  ): CatalogPage<Item> | Promise<CatalogPage<Item>>;
}

/**
 * Returns an `ItemList` that has only the items that `isMatch` accepts. Its `list` examines all
 * items of the workspace.
 */
export function filtered<Item extends { externalId?: string }>(
  each: (workspaceId: string) => Iterable<Item>,
  isMatch: (item: Item) => boolean,
  { slices, signal }: Slicing,
): ItemList<Item> {
  return {
    async list(workspaceId, page, hasExternalId) {
      const first = (page - 1) * PAGE_ITEMS_MAX;
      const items: Item[] = [];
      let total = 0;
      const add = (item: Item) => {
        if (hasExternalId !== undefined && (item.externalId !== undefined) !== hasExternalId)
          return;
        if (!isMatch(item)) return;
        if (total >= first && items.length < PAGE_ITEMS_MAX) items.push(item);
        total += 1;
      };
      await slices.each(each(workspaceId), add, signal);
      return { items, total };
    },
  };
}

/**
 * Returns a list of the items whose name contains `text` or whose id is `text`. Without `text`,
 * returns `items`.
 */
export function searched<Item extends SearchedItem & { externalId?: string }>(
  items: ItemList<Item> & { each(workspaceId: string): Iterable<Item> },
  text: string | undefined,
  slicing: Slicing,
): ItemList<Item> {
  return text === undefined ? items : filtered(items.each, matching(text), slicing);
}

/** For each sort key, such as `name`: the function that returns a row's value for sorting. */
export type SortKeys<Row> = Record<string, (row: Row) => string | number>;

/**
 * Sorts rows in place by a key such as `name`, or in reverse order by `-name`, and returns them.
 * Keeps the order of rows with equal values. Does nothing if `sort` is no key of `keys`.
 */
export function sortRows<Row>(rows: Row[], sort: string | undefined, keys: SortKeys<Row>): Row[] {
  const keyOf = keys[sort?.replace(/^-/, "") ?? ""];
  if (keyOf === undefined) return rows;
  const sign = sort?.startsWith("-") ? -1 : 1;
  return rows.sort((one, other) => sign * compare(keyOf(one), keyOf(other)));
}

// One collator for all comparisons: `localeCompare` with options makes one each time.
const byText = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

function compare(one: string | number, other: string | number): number {
  if (typeof one === "number") return one - Number(other);
  return byText.compare(one, String(other));
}

/**
 * Returns at most the first `STATUS_ITEMS_MAX` items of a workspace (`items`), and the number of
 * all its items (`total`). Reads the items in slices.
 */
export async function firstItems<T>(
  of: { each(workspaceId: string): Iterable<T>; count(workspaceId: string): number },
  workspaceId: string,
  { slices, signal }: Slicing,
) {
  const items: T[] = [];
  const first = Iterator.from(of.each(workspaceId)).take(STATUS_ITEMS_MAX);
  await slices.each(first, (item) => items.push(item), signal);
  return { items, total: items.length < STATUS_ITEMS_MAX ? items.length : of.count(workspaceId) };
}
