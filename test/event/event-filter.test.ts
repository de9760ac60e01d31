import { expect, test } from "bun:test";
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

test("every event passes where there is no filter", () => {
  expect(filterOf(undefined)(Buffer.from("{}"))).toBe(true);
});
