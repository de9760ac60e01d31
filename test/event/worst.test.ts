import { describe, expect, test } from "bun:test";
import { eventOf } from "../../src/event/event.ts";
import { inspectQuery } from "../../src/event/inspect.ts";
import { checkAgreement, recordOf } from "./agreement.ts";
import { QUERY_BYTES_MAX, worstQueries } from "./worst.ts";

/** 2 ms is the promise, which `bench/parse.ts` checks; here a slip to something quadratic shows. */
const PARSE_MS_MAX = 50;

describe("the worst legal query", () => {
  for (const [name, query] of Object.entries(worstQueries)) {
    test(name, () => {
      expect(query.length).toBeLessThanOrEqual(QUERY_BYTES_MAX);
      expect(inspectQuery(query, "page").problem).toBeUndefined();
      checkAgreement(query, "page");
      const record = recordOf(query);
      const startedAt = performance.now();
      for (let i = 0; i < 10; i++) {
        inspectQuery(query, "page");
        eventOf(record);
      }
      expect((performance.now() - startedAt) / 10).toBeLessThan(PARSE_MS_MAX);
    });
  }
});
