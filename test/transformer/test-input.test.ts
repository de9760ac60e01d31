import { expect, test } from "bun:test";
import { objectIn, objectsIn, RequestFault, textOf } from "../../src/transformer/requests.ts";
import { importedNames } from "../../src/transformer/test-code/imported-names.ts";
import { languageOf, testInput, testRunInput } from "../../src/transformer/test-code/test-input.ts";

const revision = { code: "c", language: "javascript" };
const events = [{ message: { a: 1 }, metadata: { b: 2 } }, { message: {} }];
const items = [
  { message: { a: 1 }, metadata: { b: 2 } },
  { message: {}, metadata: {} },
];
const credentials = [{ key: "k", value: "v" }];

test("the two kinds of tests name code, events, libraries and credentials in their own ways", () => {
  const expected = {
    ...{ name: "base transformation", code: "c", language: "javascript", events: items },
    credentials: { k: "v" },
  };
  const ofTest = { trRevCode: revision, events, credentials, libraryVersionIDs: ["l1", 7] };
  expect(testInput(ofTest)).toEqual({ ...expected, libraryVersionIds: ["l1", ""] } as never);
  const libraries = [{ versionId: "l1" }, { versionId: 7 }, "l2"];
  const dependencies = { libraries, credentials };
  const ofRun = { codeRevision: { ...revision, name: "n" }, input: events, dependencies };
  const named = { ...expected, name: "n", libraryVersionIds: ["l1", ""] };
  expect(testRunInput(ofRun)).toEqual(named as never);
});

test("without libraries and credentials, or with others than lists, a test has none", () => {
  for (const odd of [undefined, null, 7, "x", {}]) {
    const ofTest = { trRevCode: revision, events, libraryVersionIDs: odd, credentials: odd };
    const ofRun = { codeRevision: revision, input: events, dependencies: odd };
    for (const input of [testInput(ofTest), testRunInput(ofRun)]) {
      expect(input).toMatchObject({ libraryVersionIds: [], credentials: {} });
    }
  }
});

test.each([
  [{ events }, "Missing parameters in transformation code block"],
  [{ events, trRevCode: { ...revision, code: "" } }, "Missing parameters"],
  [{ events, trRevCode: { ...revision, code: 7 } }, "Missing parameters"],
  [{ events, trRevCode: { code: "c" } }, "Missing parameters"],
  [{ events, trRevCode: { ...revision, codeVersion: "0" } }, "Expected the codeVersion 1"],
  [{ events, trRevCode: { ...revision, language: "ruby" } }, "Expected the language javascript"],
  [{ trRevCode: revision }, "Missing events"],
  [{ trRevCode: revision, events: [] }, "Missing events"],
  [{ trRevCode: revision, events: [7] }, "Missing events"],
  [{ trRevCode: revision, events: [{}] }, "Expected events with an object message"],
  [{ trRevCode: revision, events: [{ message: [] }] }, "Expected events with an object message"],
])("a test of %j is refused", (body, message) => {
  expect(() => testInput(body)).toThrow(RequestFault);
  expect(() => testInput(body)).toThrow(message);
});

test("the version of code may be a number or absent, and Python has several names", () => {
  for (const codeVersion of ["1", 1, undefined]) {
    const trRevCode = { ...revision, codeVersion };
    expect(testInput({ events, trRevCode }).language).toBe("javascript");
  }
  expect(["python", "pythonfaas"].map(languageOf)).toEqual(["python", "python"]);
  expect(() => languageOf("javascripts")).toThrow(RequestFault);
  expect(() => languageOf("")).toThrow(RequestFault);
});

test("a body is a JSON object, and its members are taken for what they are", () => {
  expect(objectIn(Buffer.from('{"ä":[1]}'))).toEqual({ ä: [1] });
  for (const [text, message] of [
    ["[]", "Expected a body that is a JSON object"],
    ["null", "Expected a body that is a JSON object"],
    ["{", "Expected a body that is valid JSON"],
  ] as const) {
    expect(() => objectIn(Buffer.from(text))).toThrow(new RequestFault(message));
  }
  expect(objectsIn([{ a: 1 }, null, 7, "x", {}])).toEqual([{ a: 1 }, {}]);
  expect(objectsIn({ 0: {} })).toEqual([]);
  expect(["x", "", 7, null, undefined].map(textOf)).toEqual(["x", "", "", "", ""]);
});

test.each([
  ['import a from "one"', ["a"]],
  ['import a, { b as c, d } from "one"', ["a", "b", "d"]],
  ['import { a } from "one"; import b from "one"', ["a", "b"]],
  ['import * as all from "one"', []],
  ['import a, * as all from "one"', ["a"]],
  ['import "one"', []],
  ['import {} from "one"', []],
  ['import { a, } from "one"', ["a"]],
  ['import /* x, */ a, { // y\n b } from "one"', ["a", "b"]],
  ['const it = import("one"); import { a } from "two"', []],
])("%s takes the names %j", (code, names) => {
  expect(importedNames("javascript", code, ["one"])).toEqual({ one: [...names] });
});

test("the names that Python imports are not listed, and modules that are named stay", () => {
  expect(importedNames("python", "from one import a", ["one"])).toEqual({ one: [] });
  expect(importedNames("javascript", "", ["one"])).toEqual({ one: [] });
});
