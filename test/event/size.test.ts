import { expect, test } from "bun:test";
import fc from "fast-check";
import { eventOf } from "../../src/event/event.ts";
import { inspectQuery } from "../../src/event/inspect.ts";
import { runs } from "../tier.ts";
import { recordOf } from "./agreement.ts";
import { query } from "./queries.ts";
import { worstQueries } from "./worst.ts";

/** Fields that the service adds, and 500 gaps of five bytes. */
const FIXED_BYTES = 3_072;
const IDS = "writeKey=k&userId=u";

/** Queries that name few elements of long arrays, at any level. */
const path = fc.array(fc.constantFrom("a", "0", "1", "9", "99", "999", "properties"), {
  minLength: 1,
  maxLength: 15,
});
const sparse = fc
  .array(path, { maxLength: 120 })
  .map((paths) => paths.map((one, i) => `${i % 9}.${one.join(".")}=`).join("&"));
/** Queries whose bytes become several: control characters, quotes, broken escapes, empty names. */
const costly = fc
  .array(fc.constantFrom(...'\u0001\u001f"\\\u00ff&=.0a+', "%01", "%22", "%FF", "%E2%82%AC"), {
    maxLength: 600,
  })
  .map((pieces) => pieces.join(""));

test("an event has at most eight bytes for each byte of its query, and some", () => {
  fc.assert(
    fc.property(fc.oneof(query, sparse, costly), fc.constantFrom("page", "track"), (rest, type) => {
      const whole = `${IDS}&event=e&${rest}`;
      if (inspectQuery(whole, type).problem !== undefined) return;
      const { length } = eventOf(recordOf(whole, type)).json;
      expect(length).toBeLessThanOrEqual(8 * whole.length + FIXED_BYTES);
    }),
    { numRuns: runs(2_000, 100_000) },
  );
});

test.each(Object.entries(worstQueries))("so has the worst query: %s", (_, whole) => {
  const { length } = eventOf(recordOf(whole)).json;
  expect(length).toBeLessThanOrEqual(8 * whole.length + FIXED_BYTES);
});

test("a pixel of 2 KB with gaps is refused, and one in the event log keeps its elements", () => {
  const gaps = Array.from({ length: 99 }, (_, i) => `properties.a${i}.999=1`).join("&");
  const whole = `${IDS}&${gaps}`;
  expect(inspectQuery(whole, "page").problem).toBe("Expected arrays with at most 500 gaps in all");
  const { properties } = JSON.parse(Buffer.from(eventOf(recordOf(whole)).json).toString());
  expect(Object.keys(properties).length).toBe(99);
  expect(properties.a98[999]).toBe(1);
});
