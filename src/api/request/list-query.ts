import { Type } from "@sinclair/typebox";
import type { CatalogPage } from "../../catalog/model.ts";
import {
  NAME_CHARS_MAX,
  PAGE_ITEMS_MAX,
  PAGE_MAX,
  STATUS_ITEMS_MAX,
  STATUS_PAGE_MAX,
} from "../../settings/limits.ts";

/** Parameters and functions of lists that the server searches, sorts and pages. */

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

interface ListQuery {
  page?: number;
  count?: number;
}

/** Returns the query parameter by which a list is sorted, `-` for the reverse order. */
export const sortBy = <Key extends string>(keys: readonly Key[], otherwise: string) =>
  Type.Optional(
    Type.Union(
      keys.flatMap((key) => [Type.Literal(key), Type.Literal(`-${key}` as const)]),
      { description: `With \`-\` in reverse; ${otherwise} if absent` },
    ),
  );

export function pageOf<T>(items: readonly T[], { page = 1, count = 50 }: ListQuery): T[] {
  return items.slice((page - 1) * count, page * count);
}

/** Returns a filter of items by a part of the name, or by the whole id. */
export function matching(text = "") {
  const part = text.trim().toLowerCase();
  return ({ id, name }: { id: string; name: string }) =>
    name.toLowerCase().includes(part) || id === text.trim();
}

interface SearchedItem {
  id: string;
  name: string;
  externalId?: string;
}

/** Returns the list of those items of a kind that match a text, or of all without a text. */
export function searched<Item extends SearchedItem>(
  items: SearchedItems<Item>,
  text: string | undefined,
): Pick<SearchedItems<Item>, "list"> {
  if (text === undefined) return items;
  const isMatch = matching(text);
  return {
    list(workspaceId, page, hasExternalId) {
      const found = Iterator.from(items.each(workspaceId))
        .filter(isMatch)
        .filter(
          (it) => (hasExternalId ?? it.externalId !== undefined) === (it.externalId !== undefined),
        )
        .toArray();
      const first = (page - 1) * PAGE_ITEMS_MAX;
      return { items: found.slice(first, first + PAGE_ITEMS_MAX), total: found.length };
    },
  };
}

interface SearchedItems<Item> {
  each(workspaceId: string): Iterable<Item>;
  list(workspaceId: string, page: number, hasExternalId?: boolean): CatalogPage<Item>;
}

/** Values by which rows are sorted, by the name of the order. */
export type SortKeys<Row> = Record<string, (row: Row) => string | number>;

/**
 * Sorts rows in place by a key such as `name`, or by `-name` in reverse. Rows with equal values keep
 * their order. Does nothing without a key.
 */
export function sortRows<Row>(rows: Row[], sort: string | undefined, keys: SortKeys<Row>): void {
  const keyOf = keys[sort?.replace(/^-/, "") ?? ""];
  if (keyOf === undefined) return;
  const sign = sort?.startsWith("-") ? -1 : 1;
  rows.sort((one, other) => sign * compare(keyOf(one), keyOf(other)));
}

// One for all comparisons: `localeCompare` with options makes one each time.
const byText = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

function compare(one: string | number, other: string | number): number {
  if (typeof one === "number") return one - Number(other);
  return byText.compare(one, String(other));
}

/**
 * Returns a workspace's items, up to the number that a workspace's state covers, and the total number
 * of items.
 */
export function firstItems<T>(
  of: { each(workspaceId: string): Iterable<T>; count(workspaceId: string): number },
  workspaceId: string,
) {
  const items = Iterator.from(of.each(workspaceId)).take(STATUS_ITEMS_MAX).toArray();
  return { items, total: items.length < STATUS_ITEMS_MAX ? items.length : of.count(workspaceId) };
}
