import { describe, expect, test } from "bun:test";
import { RequestRefused } from "../../../src/api/client.ts";
import {
  choicesOf,
  type JsonSchema,
  kindOf,
  labelOf,
} from "../../../src/console/components/forms/json-schema.ts";
import {
  hasSecret,
  STORED_SECRET,
  storedItemsOf,
  storedValues,
  textOf,
} from "../../../src/console/components/forms/stored-values.ts";
import {
  mergeValues,
  reloadIfChanged,
  SaveConflict,
  saveValues,
  type Values,
} from "../../../src/console/data/save.ts";
import { conflictTexts } from "../../../src/console/texts/conflicts.ts";
import { parseToShow } from "../../../src/json/parse-exact.ts";
import { renderHook, settled, startPage } from "./page.ts";

startPage();
const { session, onSignOut } = await import("../../../src/console/data/session.ts");
const { useKeptValues } = await import("../../../src/console/data/kept-values.ts");
const { toasts } = await import("../../../src/console/components/toasts.ts");
const { useSave } = await import("../../../src/console/components/forms/use-save.tsx");
const { useItemForm } = await import("../../../src/console/components/forms/use-save.tsx");
const { copiedSettings, isMissing, secretLabel } = await import(
  "../../../src/console/destinations/copied-settings.ts"
);

/** The error of a save whose item others have changed to `current`. */
const changed = (current: Values | undefined, tag = "new") =>
  new RequestRefused(412, "changed", [], undefined, { current, tag });
const valuesOf = (current: never) => current as Values;

describe("the control of a value", () => {
  const cases: [JsonSchema, string | undefined][] = [
    [{ type: "string" }, "text"],
    [{ type: "string", writeOnly: true }, "secret"],
    [{ type: "string", contentMediaType: "text/x" }, "code"],
    [{ type: "string", enum: ["a", "b"] }, "choice"],
    [{ anyOf: [{ const: "a" }, { const: "b" }] }, "choice"],
    [{ anyOf: [{ const: "a" }, { type: "number" }] }, "json"],
    [{ type: "integer" }, "number"],
    [{ type: "number" }, "number"],
    [{ type: "boolean" }, "checkbox"],
    [{ type: "object", properties: {} }, "object"],
    [{ type: "object" }, "json"],
    [{ type: "array", items: { type: "object", properties: {} } }, "list"],
    [{ type: "array", items: { type: "object" } }, "json"],
    [{ type: "array", items: { type: "string" } }, "lines"],
    [{ type: "array" }, "json"],
    [{}, undefined],
  ];
  test.each(cases)("of the schema %j is %s", (schema, kind) => {
    expect(kindOf(schema)).toBe(kind as ReturnType<typeof kindOf>);
  });

  test("offers the texts of its schema", () => {
    expect(choicesOf({ anyOf: [{ const: "a" }, { const: "b" }] })).toEqual(["a", "b"]);
    expect(choicesOf({ enum: ["a", 1] })).toBeUndefined();
    expect(choicesOf({})).toBeUndefined();
  });

  test.each([
    ["webhookUrl", "Webhook URL"],
    ["tls_ca", "TLS CA"],
    ["timeout-ms", "Timeout (ms)"],
    ["apiKey2Id", "Api key2 ID"],
  ])("of %s is labelled %s", (name, label) => {
    expect(labelOf(name)).toBe(label);
  });
});

describe("stored secrets", () => {
  const headers = {
    type: "array",
    items: { properties: { name: {}, value: { writeOnly: true } } },
  };

  test("are found in properties and items of a schema", () => {
    expect(hasSecret({})).toBe(false);
    expect(hasSecret({ writeOnly: true })).toBe(true);
    expect(hasSecret({ properties: { a: {}, b: { writeOnly: true } } })).toBe(true);
    expect(hasSecret({ items: { properties: { a: {} } } })).toBe(false);
    expect(hasSecret(headers)).toBe(true);
  });

  test("are not shown at any depth, and a removed one is seen to be", () => {
    const { secret, empty } = conflictTexts;
    expect(textOf("s3cret", { writeOnly: true })).toBe(secret);
    expect(textOf(undefined, { writeOnly: true })).toBe(secret);
    expect(textOf(null, { writeOnly: true })).toBe(empty);
    const list = [{ name: "a", value: "s3cret" }, { name: "b" }, 7];
    expect(textOf(list, headers)).toBe(
      JSON.stringify([{ name: "a", value: secret }, { name: "b" }, 7]),
    );
    const schema = { properties: { auth: { properties: { key: { writeOnly: true } } } } };
    const value = { auth: { key: "s3cret", user: "u" }, more: null, constructor: 1 };
    expect(textOf(value, schema)).toBe(
      JSON.stringify({ ...value, auth: { key: secret, user: "u" } }),
    );
    expect([textOf("text", {}), textOf("", {}), textOf(undefined, {})]).toEqual([
      ...["text", empty, empty],
    ]);
  });

  test("are marked in the values that the API answered", () => {
    const values = { url: "u", headers: [{ name: "a" }] };
    expect(storedValues(values, ["/token", "/headers/0/value", "/none/0/value"])).toEqual({
      url: "u",
      token: STORED_SECRET,
      headers: [{ name: "a", value: STORED_SECRET }],
    });
    expect(values).toEqual({ url: "u", headers: [{ name: "a" }] });
  });

  test("leave integers that a number cannot represent as they are", () => {
    const values = parseToShow('{"id":12345678901234567890}') as Values;
    expect(JSON.stringify(storedValues(values, []))).toBe('{"id":12345678901234567890}');
    const { config } = copiedSettings({ config: values, secretsSet: [] } as never);
    expect(JSON.stringify(config)).toBe('{"id":12345678901234567890}');
  });

  test("stay with the list items whose other fields are equal, each with one", () => {
    const stored = [
      { name: "a", kind: "x", value: 1 },
      { name: "b", value: 2 },
    ];
    const items = [{ name: "b", value: "" }, { kind: "x", name: "a" }, { name: "b" }];
    expect(storedItemsOf(items, stored, headers.items)).toEqual([stored[1], stored[0], undefined]);
    const [none, known] = storedItemsOf([{ name: "z" }, { name: "b" }], stored, headers.items);
    expect([none, known]).toEqual([undefined, stored[1]]);
    expect(storedItemsOf(items, undefined, headers.items)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe("a copy of a destination's settings", () => {
  const config = {
    url: "https://user:***@host",
    headers: [{ from: "X-Key" }, { from: 7, text: "a" }],
    tls: { deep: { key: "***" } },
    empty: null,
  };
  const secretsSet = ["/headers/0/to", "/url"];

  test("has no secrets, and names those that it lacks", () => {
    const copy = copiedSettings({ config, secretsSet } as never);
    expect(copy.secrets).toEqual(["/headers/0/to", "/url", "/tls/deep/key"]);
    expect(copy.config as object).toEqual({
      headers: [{ from: "X-Key" }, { from: 7, text: "a" }],
      tls: { deep: {} },
      empty: null,
    });
    expect(config.url).toBe("https://user:***@host");
  });

  test("lacks a secret while its field is empty, and none of a removed item", () => {
    const values = { a: "x", b: "", c: null, list: [{}] };
    expect(
      ["/a", "/b", "/c", "/d", "/list/0/e", "/list/1/e"].map((it) => isMissing(values, it)),
    ).toEqual([false, true, true, true, true, false]);
  });

  test("names a secret by the labels of its fields", () => {
    const schema: JsonSchema = { properties: { headers: { title: "Headers" } } };
    expect(secretLabel(schema, config, "/apiKey")).toBe("Api key");
    expect(secretLabel({ properties: { a: { title: "T" } } }, config, "/a")).toBe("T");
    const first = secretLabel(schema, config, "/headers/0/to");
    expect([first.includes("Headers"), first.includes("X-Key")]).toEqual([true, true]);
    expect(secretLabel(schema, config, "/headers/1/toKey")).toContain("To key");
    expect(secretLabel(schema, config, "/headers/9/toKey")).toContain("To key");
    expect(secretLabel(schema, config, "/tls/caKey")).toContain("CA key");
  });
});

describe("a save of values that others may have changed", () => {
  test("keeps each side's changes, and has a conflict where both differ", () => {
    const base = { a: 1, b: 1, c: 1, d: 1, e: 1 };
    const yours = { a: 2, b: 1, c: 2, d: 2, e: 1 };
    const theirs = { a: 1, b: 2, c: 3, d: 2, f: 1 };
    expect(mergeValues(base, yours, theirs)).toEqual({
      merged: { a: 2, b: 2, c: 2, d: 2, f: 1 },
      conflicts: [{ key: "c", base: 1, theirs: 3, yours: 2 }],
      changedByOthers: ["b", "c", "e", "f"],
    });
  });

  test("has a conflict for a secret that the user has changed", () => {
    const isSecret = (key: string) => key === "s";
    expect(mergeValues({ s: 1, t: 1 }, { s: 1, t: 2 }, { s: 1, t: 1 }, isSecret).conflicts).toEqual(
      [],
    );
    const { conflicts } = mergeValues({ s: 1 }, { s: 2 }, { s: 1 }, isSecret);
    expect(conflicts.map(({ key }) => key)).toEqual(["s"]);
  });

  test("sends both sides' changes under the newest tag, and names the fields of others", async () => {
    const sent: unknown[] = [];
    const answers = [changed({ a: 1, b: 2 }), changed({ a: 1, b: 3 }, "newer")];
    const send = async (values: Values, tag: string | undefined) => {
      sent.push([values, tag]);
      const refusal = answers.shift();
      if (refusal) throw refusal;
    };
    const saved = { base: { a: 1, b: 1 }, tag: "old", yours: { a: 2, b: 1 }, send, valuesOf };
    expect(await saveValues(saved)).toEqual(["b"]);
    expect(sent).toEqual([
      [{ a: 2, b: 1 }, "old"],
      [{ a: 2, b: 2 }, "new"],
      [{ a: 2, b: 3 }, "newer"],
    ]);
  });

  test("rejects with a conflict, and with each other failure as it is", async () => {
    const save = (error: Error) =>
      saveValues({
        ...{ base: { a: 1 }, tag: "old", yours: { a: 2 }, valuesOf },
        send: () => Promise.reject(error),
      }).catch((thrown) => thrown);
    const conflict = await save(changed({ a: 3 }));
    expect(conflict).toBeInstanceOf(SaveConflict);
    expect(conflict).toMatchObject({ message: "changed", theirs: { a: 3 }, tag: "new" });
    const [gone, other, always] = [changed(undefined), new TypeError("x"), changed({ a: 1 })];
    // A proxy that changes the tags lets no save pass.
    expect(await save(always)).toBe(always);
    expect(await save(gone)).toBe(gone);
    expect(await save(other)).toBe(other);
  });

  test("loads the item again after a change of others, and after no other failure", async () => {
    let reloads = 0;
    const reload = async () => void reloads++;
    expect(await reloadIfChanged(Promise.resolve(7), reload)).toBe(7);
    for (const error of [new TypeError("x"), changed({})]) {
      expect(await reloadIfChanged(Promise.reject(error), reload).catch((it) => it)).toBe(error);
    }
    expect(reloads).toBe(1);
  });
});

describe("a form in conflict", () => {
  test("saves what the user chose over what others stored", async () => {
    const sent: unknown[] = [];
    let theirs: Values | undefined = { a: 3, b: 3, c: 3, d: 1 };
    const send = async (values: Values, tag: string | undefined) => {
      sent.push([values, tag]);
      if (theirs) throw changed(theirs);
    };
    const item = { base: { a: 1, b: 1, c: 1 }, tag: "old", send, valuesOf };
    const shown = renderHook(() => useSave({ ...item, labelOf: (key) => key }));
    const yours = { a: 2, b: 2, c: 1 };
    expect(await shown.current.save(yours)).toBe(false);
    await settled();
    const { conflict, onChoose } = shown.current.conflict!;
    expect(conflict.fields.map(({ key }) => key)).toEqual(["a", "b"]);
    onChoose("a", true);
    await settled();
    shown.current.conflict!.onChoose("b", true);
    await settled();
    shown.current.conflict!.onChoose("b", false);
    await settled();
    expect([...shown.current.conflict!.takenFromOthers]).toEqual(["a"]);
    theirs = undefined;
    expect(await shown.current.save(yours)).toBe(true);
    await settled();
    expect(sent.at(-1)).toEqual([{ a: 3, b: 2, c: 3, d: 1 }, "new"]);
    expect(toasts.value).toEqual([]);
    expect(shown.current.conflict).toBeUndefined();
    await shown.close();
  });

  test("asks again at each conflict, and names the other fields that others have changed", async () => {
    const answers = [changed({ a: 3, b: 1 }), changed({ a: 3, b: 7 }, "newer")];
    const sent: unknown[] = [];
    const send = async (values: Values) => {
      sent.push(values);
      const refusal = answers.shift();
      if (refusal) throw refusal;
    };
    const item = { base: { a: 1, b: 1 }, tag: "old", send, valuesOf };
    const shown = renderHook(() => useSave({ ...item, labelOf: (key) => `label of ${key}` }));
    await shown.current.save({ a: 2, b: 1 });
    await settled();
    shown.current.conflict!.onChoose("a", true);
    await settled();
    await shown.current.save({ a: 2, b: 5 });
    await settled();
    const { conflict, takenFromOthers } = shown.current.conflict!;
    expect(conflict.fields.map(({ key }) => key)).toEqual(["b"]);
    expect(takenFromOthers.size).toBe(0);
    answers.push(changed({ a: 3, b: 7, c: 9 }, "newest"));
    await shown.current.save({ a: 1, b: 5 });
    expect(sent.at(-1)).toEqual({ a: 3, b: 5, c: 9 });
    expect(toasts.value[0]?.text).toContain("label of c");
    await shown.close();
  });

  test("fails as the save fails", async () => {
    const error = new TypeError("x");
    const send = () => Promise.reject(error);
    const item = { base: {}, tag: undefined, send, valuesOf, labelOf: String };
    const shown = renderHook(() => useSave(item));
    expect(await shown.current.save({}).catch((it) => it)).toBe(error);
    await shown.close();
  });
});

describe("a form of a stored item", () => {
  const tagged = { tag: "new" };
  const open = (
    send: (values: Values, tag?: string) => Promise<{ tag: string | undefined }>,
    reload = async () => {},
  ) =>
    renderHook(() =>
      useItemForm({
        ...{ name: "item", base: { a: 1, b: 1 }, tag: "old", send, valuesOf },
        ...{ savedText: "saved", labelOf: String, reload },
      }),
    );

  test("keeps what the user types while it is saved", async () => {
    const sent = Promise.withResolvers<typeof tagged>();
    const shown = open(() => sent.promise);
    shown.current.edit({ a: 2, b: 1 });
    await settled();
    const saved = shown.current.submit();
    await settled();
    shown.current.edit({ a: 2, b: 7 });
    await settled();
    sent.resolve(tagged);
    await saved;
    await settled();
    expect(shown.current).toMatchObject({
      ...{ isEdited: true, values: { a: 2, b: 7 }, base: { a: 2, b: 1 }, tag: "new" },
    });
    await shown.current.submit();
    await settled();
    expect(shown.current.isEdited).toBe(false);
    await shown.close();
  });

  test("shows what was saved while it is loaded again, and what the user types then", async () => {
    const loaded = Promise.withResolvers<void>();
    const shown = open(
      async () => tagged,
      () => loaded.promise,
    );
    shown.current.edit({ a: 2, b: 1 });
    await settled();
    const saved = shown.current.submit();
    await settled();
    expect(shown.current.values).toEqual({ a: 2, b: 1 });
    shown.current.edit({ ...shown.current.values, b: 7 });
    loaded.resolve();
    await saved;
    await settled();
    expect(shown.current).toMatchObject({ values: { a: 2, b: 7 }, base: { a: 2, b: 1 } });
    shown.current.discard();
    await shown.close();
  });

  test("keeps what the user types while a save is merged with changes of others", async () => {
    const answers = [changed({ a: 1, b: 3 }), undefined];
    const sent: unknown[] = [];
    const typed = Promise.withResolvers<void>();
    const shown = open(async (values, tag) => {
      sent.push([values, tag]);
      await typed.promise;
      const refusal = answers.shift();
      if (refusal) throw refusal;
      return { tag: "newest" };
    });
    shown.current.edit({ a: 2, b: 1 });
    await settled();
    const saved = shown.current.submit();
    await settled();
    shown.current.edit({ a: 5, b: 1 });
    await settled();
    typed.resolve();
    await saved;
    await settled();
    expect(shown.current).toMatchObject({
      ...{ values: { a: 5, b: 3 }, base: { a: 2, b: 3 }, tag: "newest" },
    });
    await shown.current.submit();
    expect(sent.at(-1)).toEqual([{ a: 5, b: 3 }, "newest"]);
    await shown.close();
  });

  test("forgets a conflict with the values that the user discards", async () => {
    const shown = open(async () => {
      throw changed({ a: 3, b: 1 });
    });
    shown.current.edit({ a: 2, b: 1 });
    await settled();
    await shown.current.submit();
    await settled();
    expect(shown.current.conflict).toBeDefined();
    shown.current.discard();
    await settled();
    expect([shown.current.conflict, shown.current.isEdited]).toEqual([undefined, false]);
    await shown.close();
  });
});

describe("values that were typed and not saved", () => {
  const stored = (value: number) => ({ base: { a: value }, tag: `${value}` });
  const open = (name: string, value = 1) => renderHook(() => useKeptValues(name, stored(value)));

  test("are there when the form is shown again, with the state that they change", async () => {
    session.value = { workspace: { id: "w" }, permissions: [] } as never;
    const first = open("form");
    expect(first.current).toMatchObject({ values: { a: 1 }, tag: "1", isEdited: false });
    first.current.edit({ a: 5 });
    await settled();
    await first.close();
    const again = open("form", 2);
    expect(again.current).toMatchObject({
      ...{ values: { a: 5 }, base: { a: 1 }, tag: "1", isEdited: true },
    });
    again.show(() => useKeptValues("other", stored(2)));
    await settled();
    expect(again.current).toMatchObject({ values: { a: 2 }, isEdited: false });
    again.show(() => useKeptValues("form", stored(2)));
    await settled();
    again.current.discard();
    await settled();
    expect(again.current).toMatchObject({ values: { a: 2 }, tag: "2", isEdited: false });
    await again.close();
    expect(open("form").current.isEdited).toBe(false);
  });

  test("are those of one workspace, and end at a sign-out", async () => {
    const typed = open("form");
    typed.current.edit({ a: 5 });
    await settled();
    session.value = { workspace: { id: "other" }, permissions: [] } as never;
    expect(open("form").current.isEdited).toBe(false);
    session.value = { workspace: { id: "w" }, permissions: [] } as never;
    expect(open("form").current.isEdited).toBe(true);
    for (const forget of onSignOut) forget();
    expect(open("form").current.isEdited).toBe(false);
    await typed.close();
  });
});

test("values of a form that a sign-out has deleted do not come back when they are saved", async () => {
  const shown = renderHook(() => useKeptValues("signed out", { base: { a: 1 }, tag: "t" }));
  shown.current.edit({ a: 2 });
  await settled();
  for (const forget of onSignOut) forget();
  shown.current.settle({ a: 2 }, { base: { a: 2 }, tag: "u" });
  await settled();
  expect([shown.current.isEdited, shown.current.values]).toEqual([false, { a: 1 }]);
  await shown.close();
});
