import { describe, expect, test } from "bun:test";
import { signal } from "@preact/signals";
import { h, render } from "preact";
import { RequestRefused } from "../../../src/api/client.ts";
import type { FieldPath } from "../../../src/console/components/forms/form-errors.ts";
import { readValues, timeParameters } from "../../../src/console/data/address-form.ts";
import { specialCharacters } from "../../../src/console/editor/special-characters.ts";
import { renderHook, settled, startPage } from "./page.ts";

startPage();
const { concerns, FormErrors, useErrorAt } = await import(
  "../../../src/console/components/forms/form-errors.ts"
);

test("a field shows the error of its value, and a list those of its items", () => {
  const pointers = ["/to", "/to/0", "/to/0/name", "/total", "/from", ""];
  const shown = (field: FieldPath) => pointers.filter((pointer) => concerns(field, pointer));
  expect(shown({ path: "/to", isList: false })).toEqual(["/to"]);
  expect(shown({ path: "/to", isList: true })).toEqual(["/to", "/to/0", "/to/0/name"]);
  expect(shown({ path: "/from", isList: true })).toEqual(["/from"]);
});

describe("a field of a form", () => {
  const refusal = (...paths: string[]) => {
    const details = paths.map((path) => ({ path, message: `wrong at ${path}` }));
    return new RequestRefused(400, "Refused", details, undefined);
  };

  /** A form with these fields, the messages that they show, and how often it moved the focus. */
  function formOf(...fields: [path: string | undefined, isList?: boolean][]) {
    const known = signal<readonly FieldPath[]>([]);
    const messages: (string | undefined)[] = [];
    let focused = 0;
    const focusInvalid = () => {
      focused += 1;
    };
    const all = fields.map(([path, isList], index) => () => {
      messages[index] = useErrorAt(path, isList);
      return null;
    });
    const parent = { nodeType: 1, childNodes: [], firstChild: null } as unknown as Element;
    const show = async (error: unknown) => {
      const value = { error, fields: known, focusInvalid };
      const children = all.map((Field) => h(Field, null));
      render(h(FormErrors.Provider, { value, children }), parent);
      await settled();
    };
    return {
      ...{ known, messages, show },
      focused: () => focused,
      close: () => render(null, parent),
    };
  }

  test("shows the message that the server has for its value, and moves the focus there", async () => {
    const form = formOf(["/name"], ["/to", true], [undefined]);
    await form.show(undefined);
    expect([form.messages, form.focused()]).toEqual([[undefined, undefined, undefined], 0]);
    await form.show(refusal("/to/1", "/other"));
    expect(form.messages).toEqual([undefined, "wrong at /to/1", undefined]);
    expect(form.focused()).toBe(1);
    const both = refusal("/name", "/to");
    await form.show(both);
    expect(form.messages).toEqual(["wrong at /name", "wrong at /to", undefined]);
    expect(form.focused()).toBe(3);
    // The same error again moves nothing.
    await form.show(both);
    expect(form.focused()).toBe(3);
    await form.show(new Error("No answer"));
    expect([form.messages, form.focused()]).toEqual([[undefined, undefined, undefined], 3]);
    form.close();
  });

  test("is known to its form as long as it is shown", async () => {
    const form = formOf(["/name"], ["/to", true], [undefined]);
    await form.show(undefined);
    expect(form.known.value).toEqual([
      { path: "/name", isList: false },
      { path: "/to", isList: true },
    ]);
    form.close();
    expect(form.known.value).toEqual([]);
  });

  test("shows nothing without a form", () => {
    const field = renderHook(() => useErrorAt("/name"));
    expect(field.current).toBeUndefined();
  });
});

test("a filter form has the values of the page's address, and empty ones for the others", () => {
  const query = new URLSearchParams("outcome=sent&text=a%20b&more=1");
  expect(readValues(query, ["text", "outcome", "from"])).toEqual({
    ...{ text: "a b", outcome: "sent", from: "" },
  });
});

test("a range of local times is asked for by its ends, as far as they are times", () => {
  const iso = (local: string) => new Date(local).toISOString();
  const [from, to] = ["2026-02-16T21:30", "2026-02-17T08:00"];
  expect(timeParameters({ from, to })).toEqual({ from: iso(from), to: iso(to) });
  expect(timeParameters({ from, to: "" })).toEqual({ from: iso(from) });
  expect(timeParameters({ from: "", to })).toEqual({ to: iso(to) });
  expect(timeParameters({ from: "soon", to: "" })).toEqual({});
});

test("characters without a glyph, and those that set a direction, are special in code", () => {
  const special = ["\u0000", "\u200b", "\u202e", "\u2066", "\u2028", "\u00ad", "\u{e0041}"];
  const plain = ["a", "ä", " ", "\t", "\n", "\r", "😀", "\ufe0f", "日"];
  const isSpecial = (text: string) => [...text.matchAll(specialCharacters)].length === 1;
  expect([special.filter(isSpecial), plain.filter(isSpecial)]).toEqual([special, []]);
});
