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

test("a text matches a part of a name in any case, or a whole id", () => {
  const names = ["Shop", "Workshop", "Other", "id-2"].map((name, n) => ({ id: `id-${n}`, name }));
  const found = (text?: string) => names.filter(matching(text)).map(({ name }) => name);
  expect(found()).toEqual(["Shop", "Workshop", "Other", "id-2"]);
  expect(found(" SHOP ")).toEqual(["Shop", "Workshop"]);
  expect(found(" id-2 ")).toEqual(["Other", "id-2"]);
  expect(found("ID-1")).toEqual([]);
});

test("a filtered list counts all matches, and has those of the page", async () => {
  const items = numbers(3 * PAGE_ITEMS_MAX).map((n) => ({
    ...{ n, ...(n % 3 === 0 && { externalId: `e${n}` }) },
  }));
  const even = filtered(
    () => items,
    ({ n }) => n % 2 === 0,
    slicing,
  );
  const read = async (page: number, hasExternalId?: boolean) => {
    const { items, total } = await even.list("w", page, hasExternalId);
    return { total, ns: items.map(({ n }) => n) };
  };
  const evens = items.map(({ n }) => n).filter((n) => n % 2 === 0);
  const [first, second] = [await read(1), await read(2)];
  expect([...first.ns, ...second.ns]).toEqual(evens);
  expect(first.ns).toHaveLength(PAGE_ITEMS_MAX);
  expect([first.total, second.total]).toEqual([evens.length, evens.length]);
  const marked = evens.filter((n) => n % 3 === 0);
  expect(await read(1, true)).toEqual({
    total: marked.length,
    ns: marked.slice(0, PAGE_ITEMS_MAX),
  });
  expect((await read(1, false)).total).toBe(evens.length - marked.length);
});

test("a list is searched only for a text, of one workspace", async () => {
  const each = (workspaceId: string) => [{ id: workspaceId, name: "Shop" }];
  const items = { each, list: () => ({ items: [], total: 7 }) };
  expect(searched(items, undefined, slicing)).toBe(items);
  const found = await searched(items, "shop", slicing).list("w", 1);
  expect(found).toEqual({ items: [{ id: "w", name: "Shop" }], total: 1 });
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

test("the first items of a workspace are read, and others only counted", async () => {
  const read = (count: number) => {
    const of = { each: () => numbers(count), count: () => count };
    return firstItems(of, "w", slicing);
  };
  expect(await read(3)).toEqual({ items: [0, 1, 2], total: 3 });
  const { items, total } = await read(STATUS_ITEMS_MAX + 5);
  expect([items.length, total]).toEqual([STATUS_ITEMS_MAX, STATUS_ITEMS_MAX + 5]);
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
