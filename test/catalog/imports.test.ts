import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { importersThrough, librariesFor } from "../../src/catalog/code/closure.ts";
import { importsOf } from "../../src/catalog/code/imports.ts";
import type { Revision } from "../../src/catalog/model.ts";

const javascript: [code: string, imports: string[]][] = [
  ["import a, { b as c } from 'x';\nimport * as N from \"y\"; import 'z';", ["x", "y", "z"]],
  ["export { a } from 'x'; export * from 'y'; import again from 'x';", ["x", "y"]],
  ["// import a from 'no'\n/* import b from 'no' */ const s = `import c from 'no'`;", []],
  ["const a = await import('no'); import.meta.url; /import d from 'no'/.test(a);", []],
  ["export const transformEvent = (event) => event;", []],
  ["import a from 'x'; export default function (", []],
  ["not code at all", []],
  ["", []],
];
const python: [code: string, imports: string[]][] = [
  ["import json, hashlib as h\nfrom textTools import upper", ["json", "hashlib", "textTools"]],
  ["import urllib.parse; import re", ["urllib.parse", "re"]],
  ["def f():\n    import math\n    from a.b import c", ["math", "a.b"]],
  ["from . import a\nfrom .b import c", []],
  ["'''\nimport no\n'''\n# import no\nx = \"import no\"\nimported = 1", []],
  ['"""doc""" \nimport json\nimport json', ["json"]],
  ["import", []],
  ["x = \"import no\nimport json\ny = 'it\\'s; import no", ["json"]],
  ['import json\n"""\nimport no', ["json"]],
];

describe("imports of a draft", () => {
  test.each(javascript)("JavaScript: %p", (code, imports) => {
    expect(importsOf("javascript", code)).toEqual(imports);
  });
  test.each(python)("Python: %p", (code, imports) => {
    expect(importsOf("pythonfaas", code)).toEqual(imports);
    expect(importsOf("python", code)).toEqual(imports);
  });
  test("the number and length of imports are bounded", () => {
    const many = Array.from({ length: 5_000 }, (_, n) => `import "m${n}";`).join("");
    expect(importsOf("javascript", many)).toHaveLength(1_000);
    expect(importsOf("javascript", `import "${"x".repeat(300)}"; import "y";`)).toEqual(["y"]);
    for (const opening of ["[", "(", "{", "`${", "/", "/[", "import{", "'''", "\"\"\"'''", "\\"]) {
      for (const language of ["javascript", "python"] as const) {
        expect(importsOf(language, opening.repeat(100_000)).length).toBeLessThanOrEqual(1);
      }
    }
  });
  test("any text gives a list of names", () => {
    const word = fc.constantFrom(
      "import ",
      "from ",
      "'a'",
      '"b"',
      "\n",
      ";",
      "{",
      "}",
      "`",
      "c",
      ",",
    );
    fc.assert(
      fc.property(fc.array(word), (words) => {
        for (const language of ["javascript", "python"] as const) {
          const names = importsOf(language, words.join(""));
          expect(names).toEqual([...new Set(names)]);
        }
      }),
    );
  });
});

describe("imports through libraries", () => {
  /** Libraries by name, each with the names that it imports. */
  const imports: Record<string, string[]> = {
    ...{ a: ["b", "c"], b: ["d", "json"], c: ["d", "a"], d: [], e: ["b"] },
  };
  const find = (name: string) =>
    imports[name] && { revision: { importName: name } as Revision, imports: imports[name] };

  test("lead to each needed library once, the nearest first", () => {
    const needed = (...names: string[]) =>
      librariesFor(names, find).map(({ importName }) => importName);
    expect(needed()).toEqual([]);
    expect(needed("json", "d", "d")).toEqual(["d"]);
    expect(needed("a")).toEqual(["a", "b", "c", "d"]);
    expect(needed("e", "a")).toEqual(["e", "a", "b", "c", "d"]);
  });

  test("lead back to each importer once, the direct ones first, without the libraries themselves", () => {
    const importersOf = (name: string) =>
      Object.keys(imports).filter((it) => imports[it]!.includes(name));
    const importers = (...names: string[]) => importersThrough(names, importersOf, (it) => it);
    expect(importers()).toEqual([]);
    expect(importers("e")).toEqual([]);
    expect(importers("d")).toEqual(["b", "c", "a", "e"]);
    expect(importers("a", "b")).toEqual(["c", "e"]);
  });
});
