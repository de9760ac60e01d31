import type { Catalog } from "../catalog/catalog.ts";
import { ApiError } from "../errors.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { TestBudget } from "../sandbox/test-budget.ts";
import { TEST_REQUESTS_MAX, TEST_REQUESTS_OF_WORKSPACE_MAX } from "../settings/limits.ts";

/** Catalog, sandbox and budget of the tests of one request. */
export interface TestContext {
  catalog: Catalog;
  sandbox: Sandbox;
  budget: TestBudget;
}

/**
 * Admits requests that test code, each with its own budget, which ends when the caller hangs up. A
 * request keeps its body in memory while it waits for guests, so the number of requests is bounded.
 */
export function createTests(parts: { catalog: Catalog; sandbox: Sandbox }) {
  const byWorkspace = new Map<string, number>();
  let all = 0;

  return async function tests<T>(
    workspaceId: string,
    caller: AbortSignal | undefined,
    work: (context: TestContext) => Promise<T>,
  ): Promise<T> {
    const own = byWorkspace.get(workspaceId) ?? 0;
    if (own >= TEST_REQUESTS_OF_WORKSPACE_MAX || all >= TEST_REQUESTS_MAX) {
      const whose = own >= TEST_REQUESTS_OF_WORKSPACE_MAX ? "of this workspace " : "";
      const message = `Too many requests ${whose}test code now; send the request again`;
      throw new ApiError("unavailable", message);
    }
    byWorkspace.set(workspaceId, own + 1);
    all += 1;
    using budget = new TestBudget(caller);
    try {
      return await work({ ...parts, budget });
    } finally {
      all -= 1;
      const left = byWorkspace.get(workspaceId)! - 1;
      if (left > 0) byWorkspace.set(workspaceId, left);
      else byWorkspace.delete(workspaceId);
    }
  };
}
