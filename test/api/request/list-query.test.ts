import { describe, expect, test } from "bun:test";
import {
  filtered,
  firstItems,
  matching,
  pageOf,
  searched,
  searchedListQuery,
  sortRows,
} from "../../../src/api/request/list-query.ts";
import { TimeSlicer } from "../../../src/concurrency/time-slicer.ts";
import { PAGE_ITEMS_MAX, STATUS_ITEMS_MAX } from "../../../src/settings/limits.ts";

const slicing = { slices: new TimeSlicer(), signal: new AbortController().signal };
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);

test("a page has its part of a list, the first 50 without parameters", () => {
  const items = numbers(120);
  expect(pageOf(items, {})).toEqual(items.slice(0, 50));
  const { page, count } = searchedListQuery;
  expect([page.default, count.default]).toEqual([1, 50]);
  expect(pageOf(items, { page: 3 })).toEqual(items.slice(100));
  expect(pageOf(items, { page: 2, count: 7 })).toEqual(items.slice(7, 14));
  expect(pageOf(items, { page: 4 })).toEqual([]);
});

test("rows are sorted by numbers, or by texts as people read them, and equal ones keep their order", () => {
  const rows = ["b10", "B9", "ä", "a", "A"].map((name, n) => ({ name, n, size: n % 2 }));
  const keys = {
    name: ({ name }: (typeof rows)[number]) => name,
    size: ({ size }: (typeof rows)[number]) => size,
  };
  const sorted = (sort?: string) => {
    const copy = [...rows];
    sortRows(copy, sort, keys);
    return copy.map(({ n }) => n);
  };
  expect(sorted("name")).toEqual([2, 3, 4, 1, 0]);
  expect(sorted("-name")).toEqual([0, 1, 2, 3, 4]);
  expect(sorted("size")).toEqual([0, 2, 4, 1, 3]);
  expect(sorted("-size")).toEqual([1, 3, 0, 2, 4]);
  for (const none of [undefined, "", "-", "other"]) expect(sorted(none)).toEqual([0, 1, 2, 3, 4]);
});

interface Item {
  id: string;
  name: string;
  externalId?: string;
}

/** Items of the workspace `w`, of which every third one has an external id. */
const itemsOf = (count: number) =>
  Array.from({ length: count }, (_, n): Item => {
    return { id: `i${n}`, name: `Item ${n}`, ...(n % 3 === 0 && { externalId: `e${n}` }) };
  });
const eachOf = (items: Item[]) => (workspaceId: string) => (workspaceId === "w" ? items : []);

describe("a list that is searched", () => {
  const all = itemsOf(3 * PAGE_ITEMS_MAX + 3);
  const list = filtered(eachOf(all), ({ id }) => id !== "i0", slicing);

  test("has the items that match, in pages, and the number of all of them", async () => {
    const first = await list.list("w", 1);
    expect(first.total).toBe(all.length - 1);
    expect(first.items).toEqual(all.slice(1, 1 + PAGE_ITEMS_MAX));
    const last = await list.list("w", 4);
    expect(last.items.map(({ id }) => id)).toEqual([all.at(-2)!.id, all.at(-1)!.id]);
    expect(await list.list("x", 1)).toEqual({ items: [], total: 0 });
  });

  test("has only items with an external id, or only those without, if a request asks for them", async () => {
    const having = await list.list("w", 1, true);
    expect([having.total, having.items[0]!.id]).toEqual([PAGE_ITEMS_MAX, "i3"]);
    const lacking = await list.list("w", 1, false);
    expect([lacking.total, lacking.items[0]!.id]).toEqual([2 * PAGE_ITEMS_MAX + 2, "i1"]);
  });

  test("is the list itself without a text", async () => {
    const items = { each: eachOf(all), list: () => ({ items: [], total: 7 }) };
    expect(searched(items, undefined, slicing)).toBe(items);
    const found = await searched(items, "ITEM 12", slicing).list("w", 1);
    const names = all.filter(({ name }) => name.startsWith("Item 12"));
    expect(found).toEqual({ items: names, total: names.length });
  });
});

test.each([
  ["item", true],
  ["EM 1", true],
  ["  Item 1 ", true],
  ["i1", true],
  [" i1 ", true],
  ["I1", false],
  ["i", true],
  ["i12", false],
  ["", true],
  [undefined, true],
])("a part of a name in any case matches, and a whole id: %p is %p", (text, isMatch) => {
  expect(matching(text)({ id: "i1", name: "Item 1" })).toBe(isMatch);
});

test(`the first ${STATUS_ITEMS_MAX} items are read, and only more are counted`, async () => {
  const read = (count: number) => {
    const each = eachOf(itemsOf(count));
    return firstItems({ each, count: () => 1_000_000 }, "w", slicing);
  };
  const few = await read(STATUS_ITEMS_MAX - 1);
  expect([few.items.length, few.total]).toEqual([STATUS_ITEMS_MAX - 1, STATUS_ITEMS_MAX - 1]);
  for (const count of [STATUS_ITEMS_MAX, STATUS_ITEMS_MAX + 5]) {
    const many = await read(count);
    expect([many.items.length, many.total]).toEqual([STATUS_ITEMS_MAX, 1_000_000]);
  }
});
