import { describe, expect, test } from "bun:test";
import { CompletionContext } from "@codemirror/autocomplete";
import { EditorState } from "@codemirror/state";
import {
  type CompletionData,
  completionSource,
  exportsOf,
} from "../../src/console/editor/completion.ts";
import { metadataKeys } from "../../src/sandbox/program.ts";

const known: CompletionData = {
  language: "javascript",
  events: [
    { type: "track", properties: { basket: { total: 3 }, "a b": 1, list: [{ sku: "x" }] } },
    { type: "page", context: { page: { url: "u" } } },
  ],
  credentials: ["SHOP_KEY"],
  libraries: [{ importName: "prices", exports: ["euros", "cents"] }],
};

/**
 * Completes the code at the cursor `|`. Returns the options, and the text before the cursor that an
 * option replaces. With `isAsked`, the user has pressed the key for completion.
 */
function completion(marked: string, more: Partial<CompletionData> = {}, isAsked = true) {
  const at = marked.indexOf("|");
  const state = EditorState.create({ doc: marked.replace("|", "") });
  const found = completionSource(() => ({ ...known, ...more }))(
    new CompletionContext(state, at, isAsked),
  );
  const { from = at, options = [], validFor } = found ?? {};
  return { replaced: state.sliceDoc(from, at), options, validFor: validFor as RegExp | undefined };
}

/** Labels that completion offers at `|`. */
const offered = (marked: string, more: Partial<CompletionData> = {}): string[] =>
  completion(marked, more).options.map(({ label }) => label);

describe("completion", () => {
  const cases: [string, string[]][] = [
    ["event.|", ["type", "properties", "context"]],
    ["event.properties.|", ["basket", "a b", "list"]],
    ["event?.properties?.basket.|", ["total"]],
    ['event["properties"]["|', ["basket", "a b", "list"]],
    ["event.get('properties').get('basket').get('|", ["total"]],
    ["event.properties.list[0].|", ["sku"]],
    ["event.none.|", []],
    ["other.|", []],
    ["metadata(event).|", [...metadataKeys]],
    ['getCredential("|', ["SHOP_KEY"]],
    ['import { x } from "|', ["prices"]],
    ['import { | } from "prices"', ["euros", "cents"]],
    ['import { | } from "others"', []],
    ["function transformEvent(e) { e.|", ["type", "properties", "context"]],
    ["const transformEvent = async (it) => it.|", ["type", "properties", "context"]],
  ];
  test.each(cases)("offers names at %s", (marked, expected) => {
    expect(offered(marked)).toEqual(expected);
  });

  test("sees the line of the cursor, up to the cursor", () => {
    expect(offered("let a;\nevent.pro| + event.context.page.u")).toContain("properties");
    expect(completion("let a;\nevent.pro| + b").replaced).toBe("pro");
    expect(offered("import prices\nprices.|")).toEqual([]);
  });

  test("offers the exports of an imported Python library", () => {
    const python = { language: "python" as const };
    expect(offered("import prices\nprices.|", python)).toEqual(["euros", "cents"]);
    expect(offered("prices.|", python)).toEqual([]);
    expect(offered("import |", python)).toEqual(["prices"]);
    expect(offered("other.|", python)).toEqual([]);
    expect(completion("import prices\nprices.|", python).options[0]?.detail).toBe("export");
  });

  test("matches only the end of a long line", () => {
    const line = `event${".a".repeat(50_000)}${"[".repeat(50_000)}`;
    expect(offered(`${line} event.|`)).toEqual(["type", "properties", "context"]);
    expect(offered(`${line}|`)).not.toContain("type");
  });

  test.each([
    ["event.pro|", "pro"],
    ["event?.pro|", "pro"],
    ['event["properties"]["a b|', "a b"],
    ["metadata(event).so|", "so"],
    ['getCredential("SH|', "SH"],
    ['import "pr|', "pr"],
    ['import { x } from "pr|', "pr"],
    ['import { euros, ce| } from "prices"', "ce"],
    ["lo|", "lo"],
    ["1 + ev|", "ev"],
  ])("replaces what is typed of a name at %s", (marked, typed) => {
    const { replaced, options } = completion(marked);
    expect([replaced, options.length > 0]).toEqual([typed, true]);
  });

  test.each([
    ["import pr|", "pr"],
    ["from pr|", "pr"],
    ["import prices\nprices.eu|", "eu"],
  ])("replaces what is typed of a name in Python at %j", (marked, typed) => {
    const { replaced, options } = completion(marked, { language: "python" });
    expect([replaced, options.length > 0]).toEqual([typed, true]);
  });

  test("is open while the name that is typed can be one of those offered", () => {
    const fields = completion("event.|").validFor!;
    expect(["", "a b", "a-b", "$a1", "a."].map((it) => fields.test(it))).toEqual([
      ...[true, true, true, true, false],
    ]);
    const names = completion("|").validFor!;
    expect(["", "$a1", "a b"].map((it) => names.test(it))).toEqual([true, true, false]);
  });

  test("opens by itself at a field and in a name, and elsewhere where the user asks for it", () => {
    const opens = (marked: string) => completion(marked, {}, false).options.length > 0;
    expect(["event.|", "1 + l|", "1 + |", "|", "a.|"].map(opens)).toEqual([
      ...[true, true, false, false, false],
    ]);
    expect(offered("1 + |")).toContain("log");
    expect(offered("a.|")).toEqual([]);
    expect(offered("a.l|")).toEqual([]);
    expect(offered("metadata(event).a.|")).toEqual([]);
  });

  test("shows the first value of a field, cut, and at most 500 fields", () => {
    const events = [
      { long: "x".repeat(28), longer: "x".repeat(29), n: 1 },
      { n: 2, more: null },
    ];
    const { options } = completion("event.|", { events });
    expect(options.map(({ label, detail, type }) => [label, detail, type])).toEqual([
      ["long", `"${"x".repeat(28)}"`, "property"],
      ["longer", `"${"x".repeat(28)}…`, "property"],
      ["n", "1", "property"],
      ["more", "null", "property"],
    ]);
    const many = Array.from({ length: 501 }, (_, at) => [`f${at}`, at]);
    expect(offered("event.|", { events: [Object.fromEntries(many)] })).toHaveLength(500);
    const other = [{ list: [1], none: null, text: "t", number: 1 }];
    for (const path of ["list", "none", "none.a", "text", "text.length", "number", "constructor"]) {
      const { options, validFor } = completion(`event.${path}.|`, { events: other });
      expect([path, options, validFor]).toEqual([path, [], undefined]);
    }
  });

  test("says what each name stands for", () => {
    const detailOf = (marked: string, more?: Partial<CompletionData>) =>
      completion(marked, more).options[0]?.detail;
    expect([
      ...[
        detailOf('getCredential("|'),
        detailOf('import "|'),
        detailOf('import { | } from "prices"'),
      ],
      ...[detailOf("metadata(event).|"), detailOf("|")],
    ]).toEqual(["credential", "library", "export", "metadata", "provided"]);
    // Without names of its own, a place offers what every place offers.
    expect(detailOf('getCredential("|', { credentials: [] })).toBe("provided");
    expect(completion("|").options.map(({ type }) => type)).toContain("variable");
  });

  test("offers the exports of all libraries while none is named, each once", () => {
    const libraries = ["a", "b"].map((importName) => ({ importName, exports: ["x", importName] }));
    expect(offered("import { |", { libraries })).toEqual(["x", "a", "b"]);
    expect(offered('import { | } from "b"', { libraries })).toEqual(["x", "b"]);
  });

  test("offers the functions that the sandbox has for the language", () => {
    expect(offered("|")).toEqual(
      expect.arrayContaining(["log", "metadata", "fetch", "geolocation", "event"]),
    );
    expect(offered("|", { language: "python" })).toContain("geolocation");
    expect(offered("|", { language: "python" })).not.toContain("fetch");
  });
});

test("exportsOf finds the exports of JavaScript and Python libraries", () => {
  const javascript = `export const a = 1;\nexport async function b() {}\nexport { c, d as e };\nconst f = 1;
export class G {}`;
  expect(exportsOf(javascript, "javascript").sort()).toEqual(["G", "a", "b", "c", "e"]);
  const python =
    "import re\nA = 1\ndef b():\n    c = 1\nasync def d(): pass\nclass E: pass\n_f = 1\n";
  expect(exportsOf(python, "python")).toEqual(["A", "b", "d", "E"]);
});
