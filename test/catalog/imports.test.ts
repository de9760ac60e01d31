import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { importsOf } from "../../src/catalog/code/imports.ts";

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
