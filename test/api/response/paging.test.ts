import { expect, test } from "bun:test";
import { pagingOf } from "../../../src/api/response/paging.ts";

const items = (count: number) => Array.from({ length: count });

test.each([
  ["the only page", 1, { items: items(100), total: 100 }, {}, { total: 100 }],
  ["a first page", 1, { items: items(100), total: 101 }, {}, { total: 101, next: "/a?page=2" }],
  ["a page between", 2, { items: items(100), total: 201 }, {}, { total: 201, next: "/a?page=3" }],
  ["the last page", 3, { items: items(1), total: 201 }, {}, { total: 201 }],
  ["a page after the last", 4, { items: [], total: 201 }, {}, { total: 201 }],
  [
    "a page of a filtered list",
    1,
    { items: items(100), total: 101 },
    { text: "a b", sourceId: undefined, hasExternalId: false },
    { total: 101, next: "/a?page=2&text=a+b&hasExternalId=false" },
  ],
])("%s names the next page and repeats the filter", (_, page, found, filter, expected) => {
  expect(pagingOf("/a", page, found, filter)).toEqual(expected);
});

test("a page with more items than it may have, or than there are, is a bug", () => {
  const pagingWith = (count: number, total: number) => () =>
    pagingOf("/a", 1, { items: items(count), total });
  expect(pagingWith(101, 101)).toThrow("at most PAGE_ITEMS_MAX items");
  expect(pagingWith(2, 1)).toThrow("not more than there are");
});
