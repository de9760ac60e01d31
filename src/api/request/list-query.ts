import { Type } from "@sinclair/typebox";
import { NAME_CHARS_MAX, PAGE_MAX, STATUS_PAGE_MAX } from "../../settings/limits.ts";

/** Parameters and functions of lists that the server searches, sorts and pages. */

export const searchedListQuery = {
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_MAX, default: 1 })),
  count: Type.Optional(Type.Integer({ minimum: 1, maximum: STATUS_PAGE_MAX, default: 50 })),
  text: Type.Optional(
    Type.String({ maxLength: NAME_CHARS_MAX, description: "Part of a name, or an id" }),
  ),
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

function compare(one: string | number, other: string | number): number {
  if (typeof one === "number") return one - Number(other);
  return one.localeCompare(String(other), undefined, { numeric: true, sensitivity: "base" });
}
