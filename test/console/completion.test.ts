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

/** Labels that completion offers at `|`. */
function offered(marked: string, more: Partial<CompletionData> = {}): string[] {
  const at = marked.indexOf("|");
  const state = EditorState.create({ doc: marked.replace("|", "") });
  const found = completionSource(() => ({ ...known, ...more }))(
    new CompletionContext(state, at, true),
  );
  return found?.options.map(({ label }) => label) ?? [];
}

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

  test("offers the exports of an imported Python library", () => {
    const python = { language: "python" as const };
    expect(offered("import prices\nprices.|", python)).toEqual(["euros", "cents"]);
    expect(offered("prices.|", python)).toEqual([]);
    expect(offered("import |", python)).toEqual(["prices"]);
  });

  test("matches only the end of a long line", () => {
    const line = `event${".a".repeat(50_000)}${"[".repeat(50_000)}`;
    expect(offered(`${line} event.|`)).toEqual(["type", "properties", "context"]);
    expect(offered(`${line}|`)).not.toContain("type");
  });

  test("offers the functions that the sandbox has for the language", () => {
    expect(offered("|")).toEqual(
      expect.arrayContaining(["log", "metadata", "fetch", "geolocation"]),
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
