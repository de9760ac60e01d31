import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  builtInDestinations,
  builtInSources,
} from "../../../src/destinations/rudder-server/built-in-definitions.ts";
import { configForSource } from "../../../src/destinations/rudder-server/config-for-source.ts";
import { Definitions } from "../../../src/destinations/rudder-server/definition.ts";
import { DEFINITION_BYTES_MAX } from "../../../src/destinations/rudder-server/limits.ts";
import { readDefinitions } from "../../../src/destinations/rudder-server/read-definitions.ts";
import { StartError } from "../../../src/errors.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "definitions-"));
  for (const folder of ["destinations", "sources"]) mkdirSync(pathOf(folder), { recursive: true });
});
afterEach(() => rmSync(directory, { recursive: true }));

const pathOf = (...names: string[]) => join(directory, "src", "configurations", ...names);

/** Writes a file, and returns its path. */
function put(name: string, content: unknown): string {
  const path = pathOf(name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

function failure(): string | undefined {
  try {
    readDefinitions(directory);
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(StartError);
    return (error as Error).message;
  }
}

const OWN = "destinations/own/db-config.json";
const own = { name: "Own", config: {} };

test("without a directory the built-in definitions are used, and without sources those of sources", () => {
  const builtIn = readDefinitions(undefined);
  expect(builtIn.destinations()).toEqual([...builtInDestinations]);
  put(OWN, own);
  const { displayName, name, category, config, defaults } =
    readDefinitions(directory).destination("OWN")!;
  expect({ displayName, name, category, config, defaults }).toEqual({
    ...{ displayName: "Own", name: "Own", category: null, config: {}, defaults: {} },
  });
  const [source] = builtInSources;
  expect(readDefinitions(directory).source(source!.name)).toBe(source!);
});

test("texts that are absent or null have their defaults, and an empty category is none", () => {
  put(OWN, { ...own, displayName: null, category: "warehouse" });
  put("destinations/other/db-config.json", {
    ...own,
    name: "Other",
    displayName: "O",
    category: "",
  });
  put("sources/a/db-config.json", { name: "A" });
  put("sources/b/db-config.json", { name: "B", type: "web", category: "singer" });
  const definitions = readDefinitions(directory);
  expect(definitions.destinations().map((it) => [it.name, it.displayName, it.category])).toEqual([
    ["Other", "O", null],
    ["Own", "Own", "warehouse"],
  ]);
  expect([definitions.source("a"), definitions.source("b"), definitions.source("C")]).toEqual([
    { name: "A", type: "cloud", category: null },
    { name: "B", type: "web", category: "singer" },
    { name: "C", type: "cloud", category: null },
  ]);
});

test("the defaults of settings are those of the schema beside a definition", () => {
  const properties = { a: { default: 0 }, b: { type: "string" }, c: "text", d: { default: null } };
  for (const [schema, defaults] of [
    [{ configSchema: { properties } }, { a: 0, d: null }],
    [{ configSchema: { properties: [] } }, {}],
    [{ configSchema: null }, {}],
    [{}, {}],
  ] as const) {
    put(OWN, own);
    put("destinations/own/schema.json", schema);
    expect(readDefinitions(directory).destination("own")!.defaults).toEqual(defaults);
  }
  const path = put("destinations/own/schema.json", { configSchema: [] });
  expect(failure()).toBe(`Expected configSchema to be an object in ${path}, got something else`);
});

test.each([
  [{ config: {} }, "name to be a text"],
  [{ name: "", config: {} }, "name to be a text"],
  [{ name: 7, config: {} }, "name to be a text"],
  [{ ...own, displayName: 7 }, "displayName to be a text"],
  [{ ...own, category: {} }, "category to be a text"],
  [{ name: "Own", config: [] }, "config to be an object"],
  [{ name: "Own", config: { secretKeys: "a" } }, "config.secretKeys to be a list of texts"],
  [
    { name: "Own", config: { destConfig: [] } },
    "config.destConfig to be an object of lists of texts",
  ],
  [
    { name: "Own", config: { destConfig: { web: ["a"], ios: [1] } } },
    "config.destConfig to be an object of lists of texts",
  ],
  ["[]", "a JSON object"],
  ["7", "a JSON object"],
])("a definition like %j is refused, since it lacks %s", (content, expected) => {
  const path = put(OWN, content);
  expect(failure()).toBe(`Expected ${expected} in ${path}, got something else`);
});

test("a file that cannot be read, or is no JSON, is named with the reason", () => {
  const path = put(OWN, "{");
  expect(failure()).toStartWith(`Expected JSON in ${path}: `);
  rmSync(path);
  put(`${OWN}/inside`, "");
  expect(failure()).toBe(`Cannot read ${path}: EISDIR`);
});

test("the size of a file is bounded", () => {
  const text = JSON.stringify(own);
  const path = put(OWN, text.padEnd(DEFINITION_BYTES_MAX));
  expect(failure()).toBeUndefined();
  put(OWN, text.padEnd(DEFINITION_BYTES_MAX + 1));
  expect(failure()).toBe(`Expected at most ${DEFINITION_BYTES_MAX} bytes in ${path}, got more`);
});

test("a folder without a definition, and a file beside the folders, are none", () => {
  put(OWN, own);
  put("destinations/empty/ui-config.json", {});
  put("destinations/README.md", "");
  expect(
    readDefinitions(directory)
      .destinations()
      .map(({ name }) => name),
  ).toEqual(["Own"]);
});

test("two definitions of one type are refused with both files, whatever their case", () => {
  const first = put("destinations/a/db-config.json", own);
  const second = put("destinations/b/db-config.json", { ...own, name: "OWN" });
  expect(failure()).toBe(`Expected one definition of OWN, got ${first} and ${second}`);
  expect(new Definitions([], []).source("x")).toEqual({ name: "x", type: "cloud", category: null });
});

const definition = {
  ...{ name: "D", displayName: "D", category: null, defaults: { address: "here", mode: "m" } },
  config: { destConfig: { defaultConfig: ["address"], web: ["mode", "only"], ios: ["mode"] } },
};
test.each([
  [{}, { address: "here", mode: "m" }],
  [{ mode: { web: "w", ios: "i" } }, { address: "here", mode: "w" }],
  [{ mode: { ios: "i" } }, { address: "here" }],
  [{ mode: { web: null } }, { address: "here", mode: null }],
  [{ mode: { web: "w", other: 1 } }, { address: "here", mode: { web: "w", other: 1 } }],
  [{ mode: {} }, { address: "here", mode: {} }],
  [{ mode: null }, { address: "here", mode: null }],
  [{ mode: ["web"] }, { address: "here", mode: ["web"] }],
  [{ only: { web: 1 } }, { address: "here", mode: "m", only: 1 }],
  [{ address: { web: "w" } }, { address: { web: "w" }, mode: "m" }],
])("a web source of a destination with %j gets %j", (config, given) => {
  const before = JSON.stringify(config);
  expect(configForSource(definition, config, "web")).toEqual(given as never);
  expect(JSON.stringify(config)).toBe(before);
});

test("a definition without lists of settings gives each source all of them", () => {
  const config = { mode: { web: 1 } };
  const plain = { ...definition, config: {}, defaults: {} };
  expect(configForSource(plain, config, "web")).toEqual(config);
});
