import { describe, expect, test } from "bun:test";
import {
  filtered,
  firstItems,
  matching,
  pageOf,
  searched,
  sortRows,
} from "../../../src/api/request/list-query.ts";
import { TimeSlicer } from "../../../src/concurrency/time-slicer.ts";
import { PAGE_ITEMS_MAX, STATUS_ITEMS_MAX } from "../../../src/settings/limits.ts";

const slicing = { slices: new TimeSlicer(), signal: new AbortController().signal };

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

test("rows are sorted by text with numbers in it, or by number, and equal ones keep their order", () => {
  const rows = [
    { name: "b2", lag: 5 },
    { name: "B10", lag: 20 },
    { name: "a", lag: 5 },
    { name: "A", lag: 7 },
  ];
  const sorted = (sort: string | undefined) => {
    const copy = [...rows];
    sortRows(copy, sort, { name: (row) => row.name, lag: (row) => row.lag });
    return copy.map(({ name }) => name);
  };
  expect(sorted("name")).toEqual(["a", "A", "b2", "B10"]);
  expect(sorted("-name")).toEqual(["B10", "b2", "a", "A"]);
  expect(sorted("lag")).toEqual(["b2", "a", "A", "B10"]);
  expect(sorted("-lag")).toEqual(["B10", "A", "b2", "a"]);
  for (const none of [undefined, "other", "-"]) {
    expect(sorted(none)).toEqual(["b2", "B10", "a", "A"]);
  }
});

test("a page has 50 rows unless the request says how many", () => {
  const rows = Array.from({ length: 120 }, (_, n) => n);
  expect(pageOf(rows, {})).toEqual(rows.slice(0, 50));
  expect(pageOf(rows, { page: 3 })).toEqual(rows.slice(100));
  expect(pageOf(rows, { page: 2, count: 7 })).toEqual(rows.slice(7, 14));
  expect(pageOf(rows, { page: 4 })).toEqual([]);
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
