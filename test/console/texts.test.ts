import { describe, expect, test } from "bun:test";
import { Glob } from "bun";
import { literalTexts } from "./literal-texts.ts";

/** Files without texts for people: styles, code samples, units, and the page around the console. */
const exempt = [
  "src/console/bundle.ts",
  "src/console/code/samples/sample-code.ts",
  "src/console/code/samples/templates.ts",
  "src/console/editor/theme.ts",
  "src/console/format.ts",
  "src/console/sources/snippet-code.ts",
];

describe("every text of the console", () => {
  test("is in src/console/texts", async () => {
    const found: string[] = [];
    for (const path of [...new Glob("src/console/**/*.{ts,tsx}").scanSync(".")].sort()) {
      if (path.startsWith("src/console/texts/") || path.endsWith(".d.ts")) continue;
      if (exempt.includes(path)) continue;
      const texts = literalTexts(path, await Bun.file(path).text());
      found.push(...texts.map(({ line, text }) => `${path}:${line} ${text}`));
    }
    expect(found).toEqual([]);
  });

  test("is used", async () => {
    let code = "";
    const names: [string, string][] = [];
    for (const path of new Glob("src/console/**/*.{ts,tsx}").scanSync(".")) {
      const text = await Bun.file(path).text();
      if (!path.startsWith("src/console/texts/")) code += text;
      else if (!path.endsWith("/user-code-functions.ts")) {
        const found = text.matchAll(/^ {2}(?:"([\w-]+)"|(\w+)):/gm);
        for (const [, quoted, plain] of found) names.push([path, (quoted ?? plain)!]);
      }
    }
    const words = new Set(code.match(/[\w-]+|\w+/g));
    expect(names.filter(([, name]) => !words.has(name))).toEqual([]);
  });

  test("is found as an element, an attribute, a property, an argument and a template", () => {
    const code = `
      const column = { title: "name", kind: "number narrow" };
      showToast("Saved");
      if (key === "Enter") document.querySelector("main input");
      client.call("GET /v2/sources");
      const more = \`\${count} more\`;
      const view = <p class="quiet small" title="hint">Nothing yet {isOn ? "Live" : ""}</p>;
    `;
    expect(literalTexts("screen.tsx", code).map(({ text }) => text)).toEqual([
      "name",
      "Saved",
      "… more",
      "hint",
      "Nothing yet",
      "Live",
    ]);
  });
});
