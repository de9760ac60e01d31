import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { Glob } from "bun";
import { rudderstackKeys } from "../../src/destinations/config-schema.ts";
import { destinationKinds } from "../../src/destinations/destination-kinds.ts";
import { createEgress } from "../../src/egress/egress.ts";
import { anchors, documents, links } from "./markdown.ts";
import { constants, numberFaults } from "./numbers.ts";
import { referencePages } from "./reference.ts";

const texts = new Map(
  await Promise.all(documents.map(async (path) => [path, await Bun.file(path).text()] as const)),
);

const sources = [...new Glob("src/**/*.ts").scanSync(".")];

test("README.md has at most 12 KB", () => {
  expect(Buffer.byteLength(texts.get("README.md")!)).toBeLessThanOrEqual(12_000);
});

describe("generated references", async () => {
  for (const [path, text] of Object.entries(await referencePages())) {
    test(`${path} is what npm run reference writes`, () => expect(texts.get(path)).toBe(text));
  }
});

test("links of documents lead to files and headings that exist", () => {
  const broken = documents.flatMap((path) =>
    links(path, texts.get(path)!)
      .filter((link) => link.path !== undefined)
      .filter((link) => {
        if (!existsSync(link.path!)) return true;
        return link.anchor !== undefined && !anchors(texts.get(link.path!)!).includes(link.anchor);
      })
      .map(({ target }) => `${path}: ${target}`),
  );
  expect(broken).toEqual([]);
});

test("every page of docs is in its index", () => {
  const index = links("docs/README.md", texts.get("docs/README.md")!).map(({ path }) => path!);
  const pages = documents.filter((path) => path.startsWith("docs/") && path !== "docs/README.md");
  expect([...new Set(index)].sort()).toEqual(pages);
});

test("paths of the source that documents name exist", () => {
  const missing = documents.flatMap((path) =>
    [...texts.get(path)!.matchAll(/(?<![/\w])(?:src|test|bench|docs|\.ci)\/[\w./-]*[\w/]/g)]
      .map(([name]) => name)
      .filter((name) => !existsSync(name) && !name.startsWith("bench/results"))
      .map((name) => `${path}: ${name}`),
  );
  expect(missing).toEqual([]);
});

test("the glossary of ARCHITECTURE.md has at most 40 words, which the code uses", async () => {
  const glossary = texts.get("ARCHITECTURE.md")!.split("\n## Glossary\n")[1]!.split("\n## ")[0]!;
  const words = [...glossary.matchAll(/^\| ([a-z ,]+) \|/gm)].slice(1);
  const code = (await Promise.all(sources.map((path) => Bun.file(path).text())))
    .join("\n")
    .toLowerCase();
  const all = words.flatMap(([, names]) => names!.split(", "));
  expect(all.length).toBeLessThanOrEqual(40);
  expect(all.filter((word) => !code.includes(word))).toEqual([]);
});

test("ARCHITECTURE.md has every table of the stores", async () => {
  const tables = new Set<string>();
  for (const path of sources) {
    const calls = (await Bun.file(path).text()).matchAll(
      /(?:\.table|ownedTable|managedTable)(?:<[^()]*>)?\(\s*(?:store,\s*)?"([\w-]+)"/g,
    );
    for (const [, name] of calls) tables.add(name!);
  }
  expect(tables.size).toBeGreaterThan(30);
  const text = texts.get("ARCHITECTURE.md")!;
  expect([...tables].filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});

test("each number in a document equals its limit in the code", async () => {
  const values = await constants();
  const pages = documents.filter((path) => !path.startsWith("docs/reference/"));
  const faults = pages.flatMap((path) =>
    numberFaults(texts.get(path)!, values).map((fault) => `${path}: ${fault}`),
  );
  expect(faults).toEqual([]);
});

test("defaults and ports of the text are those of the settings", async () => {
  const values = await constants();
  expect([...values.get("port")!, ...values.get("admin.port")!]).toEqual([8080, 8081]);
  const api = texts.get("docs/api.md")!;
  expect(api).toContain("`0.0.0.0:8080`");
  expect(api).toContain("`127.0.0.1:8081`");
});

describe("the page of a destination's kind", () => {
  const egress = createEgress({ allow: [] });
  for (const [name, kind] of destinationKinds({ directory: "unused", egress })) {
    /** The cells of the table of settings: keys, default, meaning. */
    const rows = [
      ...texts.get(`docs/destinations/${name}.md`)!.matchAll(/^\| (`.*?) \| (.*?) \| .* \|$/gm),
    ];
    const settings = new Map(
      rows.flatMap(([, keys, value]) =>
        [...keys!.matchAll(/`(\w+)`/g)].map(
          ([, key]) => [key!, value!.replaceAll("`", "")] as const,
        ),
      ),
    );
    const properties = Object.entries(
      kind.configSchema.properties as Record<string, { default?: unknown }>,
    ).filter(([key]) => !(key in rudderstackKeys));

    test(`${name} has a row for each setting`, () => {
      expect(properties.map(([key]) => key).filter((key) => !settings.has(key))).toEqual([]);
    });

    test(`${name} has the defaults of its schema`, () => {
      const defaults = properties.filter(([, schema]) => schema.default !== undefined);
      const inCode = defaults.map(([key, schema]) => [
        key,
        typeof schema.default === "number" && key !== "port"
          ? schema.default.toLocaleString("en")
          : String(schema.default),
      ]);
      expect(defaults.map(([key]) => [key, settings.get(key)!])).toEqual(inCode);
    });
  }
});
