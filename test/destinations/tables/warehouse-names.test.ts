import { expect, test } from "bun:test";
import { WarehouseNames } from "../../../src/destinations/tables/warehouse-names.ts";

const newNames = () => new WarehouseNames({ charsMax: 63, escapesWords: true });

test("names of 10,000 paths are kept, and no more", () => {
  const names = newNames();
  const first = names.pathBelow(names.rootPath, "k0");
  expect(names.columnOf(first)).toBe("k_0");
  for (let key = 1; key < 10_000; key++) names.pathBelow(names.rootPath, `k${key}`);
  expect(names.pathBelow(names.rootPath, "k0")).toBe(first);
  names.pathBelow(names.contextPath, "one more");
  expect(names.rootPath.below).toBeUndefined();
  expect([...names.contextPath.below!.keys()]).toEqual(["one more"]);
  for (let key = 1; key < 10_000; key++) names.pathBelow(names.contextPath, `k${key}`);
  expect(names.contextPath.below!.size).toBe(10_000);
  names.pathBelow(names.rootPath, "again");
  expect(names.contextPath.below).toBeUndefined();
});

test("the name of a path of more than 256 characters is not kept", () => {
  const names = newNames();
  for (const [chars, isKept] of [
    [256, true],
    [257, false],
  ] as const) {
    const key = "k".repeat(chars);
    names.pathBelow(names.rootPath, key);
    expect(names.rootPath.below?.has(key) ?? false).toBe(isKept);
  }
});
