import type { Catalog } from "../../catalog/catalog.ts";
import { ConcurrencyLimiter } from "../../concurrency/concurrency-limiter.ts";
import { ApiError } from "../../errors.ts";
import type { Sandbox } from "../../sandbox/guest-sandbox.ts";
import { TestBudget } from "../../sandbox/test-budget.ts";
import { TEST_REQUESTS_MAX, TEST_REQUESTS_OF_WORKSPACE_MAX } from "../../settings/limits.ts";

/**
 * Objects that the tests of one request use: the catalog, the sandbox, and the budget of time and
 * output bytes that all tests of the request share.
 */
export interface TestContext {
  catalog: Catalog;
  sandbox: Sandbox;
  budget: TestBudget;
}

/**
 * Returns a function that runs the tests of one request with a new `TestBudget`, which ends when
 * the caller hangs up. The number of concurrent requests is bounded, because each keeps its body in
 * memory; requests beyond the bound get the error `unavailable`.
 */
export function createTests(parts: { catalog: Catalog; sandbox: Sandbox }) {
  const limiter = new ConcurrencyLimiter({
    perOwner: TEST_REQUESTS_OF_WORKSPACE_MAX,
    total: TEST_REQUESTS_MAX,
  });

  return async function tests<T>(
    workspaceId: string,
    caller: AbortSignal | undefined,
    work: (context: TestContext) => Promise<T>,
  ): Promise<T> {
    using permit = limiter.tryAcquire(workspaceId);
    if (permit === undefined) {
      const whose = limiter.isOwnerFull(workspaceId) ? "of this workspace " : "";
      const message = `Too many requests ${whose}test code now; send the request again`;
      throw new ApiError("unavailable", message);
    }
    using budget = new TestBudget(caller);
    return await work({ ...parts, budget });
  };
}
