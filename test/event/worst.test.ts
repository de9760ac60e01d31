import { describe, expect, test } from "bun:test";
import { eventOf } from "../../src/event/event.ts";
import { inspectQuery } from "../../src/event/inspect.ts";
import { checkAgreement, recordOf } from "./agreement.ts";
import { QUERY_BYTES_MAX, worstQueries } from "./worst.ts";

/**
 * 2 ms is the promise, which `bench/parse.ts` checks; here a slip to something quadratic shows,
 * which takes seconds, in the quickest of ten times.
 */
const PARSE_MS_MAX = 200;

describe("the worst legal query", () => {
  for (const [name, query] of Object.entries(worstQueries)) {
    test(name, () => {
      expect(query.length).toBeLessThanOrEqual(QUERY_BYTES_MAX);
      expect(inspectQuery(query, "page").problem).toBeUndefined();
      checkAgreement(query, "page");
      const record = recordOf(query);
      const times = Array.from({ length: 10 }, () => {
        const startedAt = performance.now();
        inspectQuery(query, "page");
        eventOf(record);
        return performance.now() - startedAt;
      });
      expect(Math.min(...times)).toBeLessThan(PARSE_MS_MAX);
    });
  }
});
