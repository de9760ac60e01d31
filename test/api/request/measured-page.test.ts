import { describe, expect, test } from "bun:test";
import { measuredPage } from "../../../src/api/request/measured-page.ts";
import { TimeSlicer } from "../../../src/concurrency/time-slicer.ts";
import { STATUS_ITEMS_MAX } from "../../../src/settings/limits.ts";

interface Item {
  id: string;
  name: string;
}

/** More items than are measured at once. Their names are in the reverse order. */
const items: Item[] = Array.from({ length: STATUS_ITEMS_MAX + 130 }, (_, n) => ({
  id: `i${n}`,
  name: `Item ${STATUS_ITEMS_MAX + 129 - n}`,
}));

/**
 * Asks for a page; `asked` has the number of items of each measurement. `missing` are the nodes
 * that do not answer to each measurement.
 */
async function pageFor(
  query: Parameters<typeof measuredPage>[0],
  {
    isFiltered = false,
    isListed = (_: Item): boolean => true,
    missing = [] as string[][],
    known = undefined as
      | { states: (Item & { isMeasured: true })[]; missingNodes: string[] }
      | undefined,
  } = {},
) {
  const asked: number[] = [];
  const page = await measuredPage<Item, Item & { isMeasured: true }>(query, {
    items,
    isFiltered,
    all: async () => known,
    slices: new TimeSlicer(),
    signal: new AbortController().signal,
    async measure(some) {
      const missingNodes = missing[asked.length] ?? [];
      asked.push(some.length);
      return { states: some.map((it) => ({ ...it, isMeasured: true })), missingNodes };
    },
    // The last one that is measured is the most urgent.
    arrange: (measured) => measured.filter(isListed).reverse(),
  });
  return { ...page, asked };
}

describe("a list of more items than are measured at once", () => {
  test("measures only the items of the page when it is sorted by name", async () => {
    const { rows, total, measured, asked } = await pageFor({ sort: "name", page: 3, count: 20 });
    expect(rows.map(({ name }) => name)).toEqual(
      Array.from({ length: 20 }, (_, n) => `Item ${40 + n}`),
    );
    expect([total, asked, measured]).toEqual([items.length, [20], undefined]);
    const last = await pageFor({ sort: "-name", count: 1 });
    expect(last.rows.map(({ name }) => name)).toEqual([`Item ${items.length - 1}`]);
  });

  test("has every item on one of its pages, also those that are not measured to sort it", async () => {
    const count = 100;
    const seen = new Set<string>();
    for (let page = 1; (page - 1) * count < items.length; page += 1) {
      // Pages in the middle have measured items alone.
      if (page > 2 && page < STATUS_ITEMS_MAX / count) continue;
      const { rows, total } = await pageFor({ page, count });
      expect(total).toBe(items.length);
      expect(rows.every(({ isMeasured }) => isMeasured)).toBe(true);
      for (const { id } of rows) seen.add(id);
    }
    expect(seen.has(`i${STATUS_ITEMS_MAX - 1}`)).toBe(true);
    expect(seen.has(items.at(-1)!.id)).toBe(true);
    expect(seen.size).toBe(2 * count + count + 130);
    const { rows, asked } = await pageFor({ page: STATUS_ITEMS_MAX / count + 1, count });
    expect(rows.map(({ id }) => id)).toEqual(
      Array.from({ length: count }, (_, n) => `i${STATUS_ITEMS_MAX + n}`),
    );
    expect(asked).toEqual([STATUS_ITEMS_MAX, count]);
  });

  test("measures only the items that match a text, wherever they stand", async () => {
    const { rows, total, asked } = await pageFor({ text: items.at(-1)!.id });
    expect(rows.map(({ id }) => id)).toEqual([items.at(-1)!.id]);
    expect([total, asked]).toEqual([1, [1]]);
  });

  test("counts only measured items when it is filtered by state", async () => {
    const isListed = ({ id }: Item) => id === "i7" || id === "i8";
    const { rows, total } = await pageFor({ sort: "name" }, { isFiltered: true, isListed });
    expect(rows.map(({ id }) => id)).toEqual(["i8", "i7"]);
    expect(total).toBe(2);
  });

  test("names each node that has not answered to one of its measurements once", async () => {
    const page = STATUS_ITEMS_MAX / 100 + 1;
    const missing = [["b", "a"], ["a"]];
    expect((await pageFor({ page, count: 100 }, { missing })).missingNodes).toEqual(["b", "a"]);
    expect((await pageFor({ sort: "name" }, { missing })).missingNodes).toEqual(["b", "a"]);
    const late = await pageFor({ page, count: 100 }, { missing: [[], ["c"]] });
    expect(late.missingNodes).toEqual(["c"]);
  });

  test("measures nothing when all states are known, unless it is sorted by name", async () => {
    const states = items.slice(0, 60).map((it) => ({ ...it, isMeasured: true as const }));
    const known = { states, missingNodes: ["b"] };
    const page = await pageFor({ count: 7 }, { known, isListed: ({ id }) => id !== "i59" });
    expect(page.rows.map(({ id }) => id)).toEqual([
      "i58",
      "i57",
      "i56",
      "i55",
      "i54",
      "i53",
      "i52",
    ]);
    expect([page.total, page.measured, page.missingNodes]).toEqual([59, states, ["b"]]);
    expect(page.asked).toEqual([]);
    expect((await pageFor({ count: 7, sort: "name" }, { known })).asked).toEqual([7]);
    const filtered = await pageFor({ count: 7, sort: "name" }, { known, isFiltered: true });
    expect([filtered.asked, filtered.total]).toEqual([[], 60]);
  });
});
