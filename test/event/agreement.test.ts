import { expect, test } from "bun:test";
import fc from "fast-check";
import { streamQuery } from "../../src/event/scan.ts";
import { runs } from "../tier.ts";
import { checkAgreement } from "./agreement.ts";
import { query } from "./queries.ts";

const QUERIES = runs(5_000, 100_000);

test(`the scanner agrees with the reference on ${QUERIES} queries`, () => {
  let compared = 0;
  fc.assert(
    fc.property(query, fc.constantFrom("page", "track"), (text, type) => {
      checkAgreement(text, type);
      compared++;
    }),
    { numRuns: QUERIES },
  );
  expect(compared).toBe(QUERIES);
}, 900_000);

test("the scanner tells paths of one query apart after any number of queries", () => {
  const ids = "writeKey=k&userId=u";
  for (let query = 0; query < 0x1_0002; query++) streamQuery(`${ids}&a=${query}`, "page");
  for (const text of [`${ids}&a=1&b=2`, `${ids}&a=1&b=2&a=3`, `${ids}&a.b=1&a=2&a.b=3`]) {
    checkAgreement(text, "page");
  }
  expect(streamQuery(`${ids}&a=1&b=2`, "page")).toBe(true);
  expect(streamQuery(`${ids}&a=1&b=2&a=3`, "page")).toBe(false);
});

test("random queries take both ways: streamed, and through the tree", () => {
  const ways = fc.sample(query, 2_000).map((text) => streamQuery(text, "page"));
  expect(ways.filter((isStreamed) => isStreamed).length).toBeGreaterThan(200);
  expect(ways.filter((isStreamed) => !isStreamed).length).toBeGreaterThan(200);
});

test("the scanner agrees with the reference at the limits", () => {
  const ids = "writeKey=k&userId=u";
  const many = (count: number) => Array.from({ length: count }, (_, i) => `p${i}`).join("&");
  const sparse = (arrays: number) =>
    Array.from({ length: arrays }, (_, i) => `a${i}.999=`).join("&");
  for (const text of [
    `${ids}&${many(998)}`,
    `${ids}&${many(999)}`,
    `${ids}&${"=&".repeat(998)}`,
    `${ids}&${"=&".repeat(999)}`,
    `${ids}&${"&".repeat(2_000)}`,
    `${ids}&a${".b".repeat(15)}=1`,
    `${ids}&a${".b".repeat(16)}=1`,
    `${ids}&a${"%2E".repeat(15)}`,
    `${ids}&a${"%2E".repeat(16)}`,
    `${ids}&type${".b".repeat(16)}=1`,
    `${ids}&${sparse(100)}`,
    `${ids}&${sparse(101)}`,
    `${ids}&${sparse(100)}&b.0=x`,
    // Dense, so far below the sum of its indices.
    `${ids}&${Array.from({ length: 900 }, (_, i) => `a.${899 - i}=${i}`).join("&")}`,
  ]) {
    checkAgreement(text, "page");
  }
});
