import { expect, test } from "bun:test";
import { type ComparableItem, fieldChanges, flat } from "../../src/catalog/audit/field-changes.ts";
import { AUDIT_CHANGES_MAX, AUDIT_VALUE_CHARS_MAX } from "../../src/catalog/audit/limits.ts";

const changesOf = (before?: ComparableItem, after?: ComparableItem) =>
  fieldChanges(before, after).changes;

const fieldCases: [what: string, before: object | undefined, after: object, changes: object[]][] = [
  [
    "of a new item",
    undefined,
    { a: 1, b: undefined, c: null },
    [
      { path: "a", after: 1 },
      { path: "c", after: null },
    ],
  ],
  ["that are equal", { a: 1, b: { c: [1, 2] } }, { b: { c: [1, 2] }, a: 1 }, []],
  [
    "that were set, changed and removed",
    { a: 1, b: 2 },
    { b: 3, c: 4 },
    [
      { path: "a", before: 1 },
      { path: "b", before: 2, after: 3 },
      { path: "c", after: 4 },
    ],
  ],
  [
    "of nested objects",
    { a: { b: 1, c: 2 } },
    { a: { b: 1, c: 3 } },
    [{ path: "a.c", before: 2, after: 3 }],
  ],
  [
    "of a list, which is one value",
    { a: [1, { b: 1 }] },
    { a: [1, { b: 2 }] },
    [{ path: "a", before: [1, { b: 1 }], after: [1, { b: 2 }] }],
  ],
  [
    "that became empty",
    { a: { b: 1 } },
    { a: {} },
    [
      { path: "a.b", before: 1 },
      { path: "a", after: {} },
    ],
  ],
  [
    "below four names, which are one value",
    undefined,
    { a: { b: { c: { d: { e: 1 } } } } },
    [{ path: "a.b.c.d", after: { e: 1 } }],
  ],
];

test.each(fieldCases)("a change has the fields %s", (_, before, after, changes) => {
  const item = (fields: object | undefined) => fields && { fields: { ...fields } };
  expect<unknown>(changesOf(item(before), item(after))).toEqual(changes);
});

test("a secret that changed is named without its values, unless a visible part of it changed too", () => {
  const secrets = (url: string, key?: string) => ({ "config.url": url, ...(key && { key }) });
  const item = (fields: object, url: string, key?: string) => {
    return { fields: { ...fields }, secrets: secrets(url, key) };
  };
  const secretPaths = (before: ComparableItem | undefined, after: ComparableItem | undefined) =>
    changesOf(before, after).flatMap(({ path, isSecret }) => (isSecret ? [path] : []));
  const same = { a: 1 };
  expect(changesOf(item(same, "x", "k"), item(same, "x", "k"))).toEqual([]);
  expect(changesOf(item(same, "x"), item(same, "y"))).toEqual([
    { path: "config.url", isSecret: true },
  ]);
  expect(secretPaths(item(same, "x", "k"), item(same, "x"))).toEqual(["key"]);
  expect(secretPaths(undefined, item(same, "x", "k"))).toEqual(["config.url", "key"]);
  expect(secretPaths({ fields: {} }, { fields: {} })).toEqual([]);
  const visible = (config: object) => item({ config }, JSON.stringify(config));
  for (const [name, isVisible] of [
    ["url", true],
    ["urls", false],
    ["ur", false],
  ] as const) {
    const found = secretPaths(visible({ [name]: "https://a" }), visible({ [name]: "https://b" }));
    expect([name, found]).toEqual([name, isVisible ? [] : ["config.url"]]);
  }
  const parts = secretPaths(visible({ url: { host: "a" } }), visible({ url: { host: "b" } }));
  expect(parts).toEqual([]);
});

test("a value and a path are cut at their longest, between characters", () => {
  const max = AUDIT_VALUE_CHARS_MAX;
  const one = (value: unknown, path = "a") =>
    changesOf(undefined, { fields: { [path]: value } })[0]!;
  // The quotes of its JSON count.
  expect(one("x".repeat(max - 2))).toEqual({ path: "a", after: "x".repeat(max - 2) });
  expect(one("x".repeat(max - 1))).toEqual({ path: "a", after: "x".repeat(max - 1), isCut: true });
  expect(one("x".repeat(max + 1)).after).toBe("x".repeat(max));
  expect(one(`${"x".repeat(max - 1)}😀`).after).toBe("x".repeat(max - 1));
  const list = Array.from({ length: max }, () => 1);
  expect(one(list)).toEqual({ path: "a", after: JSON.stringify(list).slice(0, max), isCut: true });
  expect(one(1, "p".repeat(max + 1)).path).toBe("p".repeat(max));
  const [shortened] = changesOf({ fields: { a: "x".repeat(max) } }, { fields: { a: "y" } });
  expect(shortened).toEqual({ path: "a", before: "x".repeat(max), after: "y", isCut: true });
});

test("changes above their number are counted, and the first ones kept", () => {
  const itemOf = (count: number) => {
    return { fields: Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, at])) };
  };
  const whole = fieldChanges(undefined, itemOf(AUDIT_CHANGES_MAX));
  expect(whole.changes).toHaveLength(AUDIT_CHANGES_MAX);
  expect(whole).not.toHaveProperty("changesLeftOut");
  for (const more of [1, 2]) {
    const cut = fieldChanges(undefined, itemOf(AUDIT_CHANGES_MAX + more));
    expect(cut).toEqual({ changes: whole.changes, changesLeftOut: more });
  }
});

test("nothing has no fields, and what is undefined is none", () => {
  expect([...flat()]).toEqual([]);
  expect([...flat({ a: undefined, b: { c: undefined, d: 1 } })]).toEqual([["b.d", 1]]);
});
