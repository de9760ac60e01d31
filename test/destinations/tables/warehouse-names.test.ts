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

test("a name that is too long ends with a hash of the whole name", () => {
  const names = newNames();
  const long = (chars: number) => names.column("a".repeat(chars));
  expect(long(63)).toBe("a".repeat(63));
  expect(long(64)).toMatch(/^a{54}_[0-9a-f]{8}$/);
  expect(long(65)).not.toBe(long(64));
  expect(names.textColumn("a".repeat(57))).toBe(`${"a".repeat(57)}__text`);
  expect(names.textColumn("a".repeat(58))).toMatch(/^a{48}_[0-9a-f]{8}__text$/);
});

test("a key of more than 1,089 characters is cut before it becomes a name", () => {
  const names = new WarehouseNames({ charsMax: 5_000, escapesWords: false });
  expect(names.column("a".repeat(1_089))).toBe("a".repeat(1_089));
  const cut = names.column(`${"a".repeat(1_090)}`);
  expect(cut).toStartWith(`${"a".repeat(1_024)}_`);
  expect(cut.replaceAll("_", "")).toHaveLength(1_024 + 64);
  expect(names.table(`${"a".repeat(1_091)}`)).not.toBe(cut);
});

test("tables of fixed meaning and reserved words are kept free", () => {
  const names = newNames();
  const fixed = ["tracks", "pages", "screens", "aliases", "groups", "accounts", "users"];
  for (const name of [...fixed, "identifies"]) expect(names.table(name)).toBe(`_${name}`);
  expect([names.table("Users"), names.table("user"), names.table("order items")]).toEqual([
    ...["_users", "_user", "order_items"],
  ]);
  expect([names.column("tracks"), names.column("order"), names.column("")]).toEqual([
    ...["tracks", "_order", ""],
  ]);
  const plain = new WarehouseNames({ charsMax: 63, escapesWords: false });
  expect([plain.column("order"), plain.table("user")]).toEqual(["order", "user"]);
});

test("a path has the names of its keys, and is empty where no character of them can be used", () => {
  const names = newNames();
  const context = names.pathBelow(names.contextPath, "Device");
  expect([context.text, names.columnOf(context)]).toEqual(["context_Device", "context_device"]);
  expect(names.columnOf(names.pathBelow(context, "id"))).toBe("context_device_id");
  const foreign = names.pathBelow(names.rootPath, "日本");
  expect([foreign.text, names.columnOf(foreign)]).toEqual(["日本", ""]);
  expect(names.columnOf(names.pathBelow(names.rootPath, "__a"))).toBe("__a");
});
