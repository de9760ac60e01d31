import { expect, test } from "bun:test";
import { contentMatcher } from "../../src/event/content-filter.ts";
import { type FieldCondition, filterOf } from "../../src/event/event-filter.ts";

const order = {
  type: "track",
  event: "Order Completed",
  properties: { plan: "pro", seats: 3, trial: false, tags: ["a"], coupon: null },
};
const passes = (mode: "only" | "except", conditions: FieldCondition[], event: unknown = order) =>
  filterOf({ mode, conditions })(Buffer.from(JSON.stringify(event)));

test.each<[FieldCondition[], boolean]>([
  [[{ path: "type", values: ["track"] }], true],
  [[{ path: "type", values: ["page", "track"] }], true],
  [[{ path: "type", values: ["Track"] }], false],
  [[{ path: "event", values: ["Order *"] }], true],
  [[{ path: "event", values: ["* Completed"] }], false],
  [[{ path: "event", values: ["Order"] }], false],
  [[{ path: "properties.seats", values: ["3"] }], true],
  [[{ path: "properties.trial", values: ["false"] }], true],
  [[{ path: "properties.coupon", values: ["*"] }], true],
  [[{ path: "properties.missing", values: ["*", "undefined"] }], false],
  [[{ path: "properties.tags", values: ["*"] }], false],
  [[{ path: "properties.constructor.name", values: ["*"] }], false],
  [[{ path: "properties", values: ["*"] }], false],
  [
    [
      { path: "type", values: ["track"] },
      { path: "properties.plan", values: ["free"] },
    ],
    false,
  ],
])("an event that meets all of %j: %p", (conditions, isMet) => {
  expect(passes("only", conditions)).toBe(isMet);
  expect(passes("except", conditions)).toBe(!isMet);
});

test("integers beyond 2^53 are compared digit by digit", () => {
  const json =
    '{"note":"\\"1","properties":{"page":10153423121234567,"price":1.5,"n":-9007199254740993}}';
  const isPage = (value: string) =>
    filterOf({ mode: "only", conditions: [{ path: "properties.page", values: [value] }] });
  expect(isPage("10153423121234567")(Buffer.from(json))).toBe(true);
  expect(isPage("10153423121234568")(Buffer.from(json))).toBe(false);
  expect(isFound({ property: "properties.n=-9007199254740993" }, json)).toBe(true);
  expect(isFound({ property: "properties.n=-9007199254740992" }, json)).toBe(false);
  expect(isFound({ property: "properties.price=1.5" }, json)).toBe(true);
});

test("every event passes where there is no filter", () => {
  expect(filterOf(undefined)(Buffer.from("{}"))).toBe(true);
});

const isFound = (filter: Parameters<typeof contentMatcher>[0], json: string) =>
  contentMatcher(filter)!(Buffer.from(json));

test.each([
  ["Müller", '{"name":"Anna MÜLLER"}', true],
  ["Müller", '{"name":"M\\u00fcller"}', true],
  ["Müller", '{"name":"M\\u00DCLLER"}', true],
  ["Müller", '{"name":"Mueller\\n"}', false],
  ["a.b/c", '{"url":"https:\\/\\/a.b\\/c"}', true],
  ["a.b/d", '{"url":"https:\\/\\/a.b\\/c"}', false],
  ['say "hi"', '{"text":"say \\"hi\\""}', true],
  ["😀", '{"text":"\\ud83d\\ude00"}', true],
  ["c:\\temp", '{"path":"C:\\\\Temp"}', true],
  ["1.50", '{"price":1.50,"note":"\\n"}', true],
  ["price", '{"price":1}', true],
  ["", '{"price":1}', true],
  ['"plan":"pro"', '{"plan":"Pro"}', true],
  ['"plan":"pro"', '{ "plan" : "pro" }', true],
  ['"plan": "pro"', '{"plan":"pro"}', true],
  ['"n": 1', '{"n":1}', true],
  ['"plan":"pro"', '{"plan":"free"}', false],
  ['"plan":"pro"', '{"note":"\\"plan\\":\\"pro\\""}', true],
])("the text %j is found in %s: %p", (text, json, isHeld) => {
  expect(isFound({ text }, json)).toBe(isHeld);
});

test("an event must have the property and the text that are asked for, as far as any is", () => {
  const json = '{"properties":{"plan":"pro=x","n":1,"none":null},"list":[1]}';
  for (const [property, isMet] of [
    ["properties.plan=pro=x", true],
    ["properties.plan=pro", false],
    ["properties.n=1", true],
    ["properties.none=null", true],
    ["properties=", false],
    ["list=1", false],
    ["missing=undefined", false],
    ["properties.plan", false],
    ["=pro", false],
  ] as const) {
    expect([property, isFound({ property }, json)]).toEqual([property, isMet]);
    expect(isFound({ property, text: "PRO" }, json)).toBe(isMet);
    expect(isFound({ property, text: "free" }, json)).toBe(false);
  }
  expect(contentMatcher({})).toBeUndefined();
});
