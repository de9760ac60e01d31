import { expect, test } from "bun:test";
import { importNameOf, isImportName, isPythonModuleName } from "../../src/catalog/import-name.ts";

const names: [name: string, importName: string][] = [
  ["cool library", "coolLibrary"],
  ["Get Cube", "getCube"],
  ["Sample Transformation Library JS 2", "sampleTransformationLibraryJs2"],
  ["User Defined Library4", "userDefinedLibrary4"],
  ["HTTPClient", "httpClient"],
  ["2nd lib", "2ndLib"],
  ["my_lib", "myLib"],
  ["MyLib", "myLib"],
  ["Lib v1.2", "libV12"],
  ["äöü lib", "aouLib"],
  ["lib's name", "libsName"],
  ["URL parser", "urlParser"],
  ["日本語", "日本語"],
  ["!!!", ""],
];

test.each(names)("%j is imported as %j", (name, importName) => {
  expect(importNameOf(name)).toBe(importName);
});

const modules: [name: string, valid: boolean][] = [
  ["getCube", true],
  ["_private", true],
  ["größe", true],
  ["2ndLib", false],
  ["class", false],
  ["with space", false],
  ["", false],
];

test.each(modules)("%j as a Python module name: %p", (name, valid) => {
  expect(isPythonModuleName(name)).toBe(valid);
});

test("names too long for a key are never looked up", () => {
  expect(isImportName("getCube")).toBe(true);
  expect(["", "a\u0000b", "x".repeat(10_000)].filter(isImportName)).toEqual([]);
  expect(isImportName(importNameOf("ß".repeat(255)))).toBe(true);
});
