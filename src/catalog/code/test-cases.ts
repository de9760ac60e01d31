import { ApiError } from "../../errors.ts";
import { isId, newId } from "../ids.ts";
import { TEST_CASES_BYTES_MAX, TEST_CASES_MAX } from "../limits.ts";
import type { TestCase } from "../model.ts";
import { parseName } from "../name.ts";
import { type CatalogStore, inTransactions, keysBelow } from "../store.ts";
import type { CodeTables } from "../tables/code-tables.ts";
import { storable } from "../tables/revision-history.ts";
import { authorOf } from "./revisions.ts";

export type TestCaseInput = Omit<TestCase, "id" | "versionId" | "createdAt" | "updatedAt">;

/**
 * Storage of transformations' test cases, which all members of the workspace share. A test case
 * belongs to a transformation, not to a revision, and stays after the transformation's deletion,
 * because publishing can restore the transformation.
 */
export function openTestCases(store: CatalogStore, tables: CodeTables) {
  const cases = store.table<TestCase, [transformationId: string, id: string]>("test-cases");

  function of(transformationId: string): TestCase[] {
    if (!isId(transformationId)) return [];
    return [...cases.getRange(keysBelow(transformationId))].map(({ value }) => value);
  }

  function get(workspaceId: string, transformationId: string, id: string): TestCase {
    expectTransformation(workspaceId, transformationId);
    const found = isId(id) ? cases.get([transformationId, id]) : undefined;
    if (found === undefined) throw new ApiError("missing", "Test case not found");
    return found;
  }

  const expectTransformation = (workspaceId: string, transformationId: string) =>
    tables.existing(workspaceId, "transformation", transformationId);

  /**
   * Stores a test case. Throws `conflict` if the transformation would then have too many test
   * cases, or if their total size would be too large.
   */
  function put(transformationId: string, testCase: TestCase): TestCase {
    const others = of(transformationId).filter(({ id }) => id !== testCase.id);
    if (others.length >= TEST_CASES_MAX) {
      const message = `Expected at most ${TEST_CASES_MAX} test cases of a transformation, got one more`;
      throw new ApiError("conflict", message);
    }
    const bytes = [...others, testCase].reduce((sum, it) => sum + sizeOf(it), 0);
    if (bytes > TEST_CASES_BYTES_MAX) {
      const message = `Expected test cases of at most ${TEST_CASES_BYTES_MAX} bytes of a transformation, got ${bytes} bytes`;
      throw new ApiError("conflict", message);
    }
    cases.put([transformationId, testCase.id], testCase);
    return testCase;
  }

  return {
    /**
     * Returns a transformation's test cases, oldest first. Returns an empty list for an unknown
     * transformation.
     */
    of,
    /** Returns a test case. Throws `missing` when the transformation has no such test case. */
    get,
    /**
     * Returns the test cases of a transformation, oldest first. Throws `missing` when the
     * transformation is unknown or was deleted.
     */
    list(workspaceId: string, transformationId: string) {
      expectTransformation(workspaceId, transformationId);
      return of(transformationId);
    },
    ...inTransactions(store, {
      /**
       * Adds a test case. Rejects with `conflict` when the transformation already has the maximum
       * number of test cases, or when their total size would be too large.
       */
      add(workspaceId: string, transformationId: string, input: TestCaseInput) {
        expectTransformation(workspaceId, transformationId);
        const now = Date.now();
        const id = newId(now);
        const times = { createdAt: now, updatedAt: now };
        return put(transformationId, { ...fields(input), ...times, id, versionId: id });
      },
      /** Replaces the content of a test case, and gives the test case a new versionId. */
      replace(workspaceId: string, transformationId: string, id: string, input: TestCaseInput) {
        const { createdAt } = get(workspaceId, transformationId, id);
        const now = Date.now();
        const times = { createdAt, updatedAt: now };
        return put(transformationId, { ...fields(input), ...times, id, versionId: newId(now) });
      },
      remove(workspaceId: string, transformationId: string, id: string) {
        get(workspaceId, transformationId, id);
        cases.remove([transformationId, id]);
      },
    }),
  };
}

function fields(input: TestCaseInput) {
  const { name, description, input: events, expectedOutput, createdBy } = input;
  return {
    name: parseName(name),
    ...(description !== undefined && description !== "" && { description }),
    input: storable(events),
    ...(expectedOutput !== undefined && { expectedOutput: storable(expectedOutput) }),
    ...(createdBy && { createdBy: authorOf(createdBy) }),
  };
}

function sizeOf({ name, description, input, expectedOutput }: TestCase): number {
  return Buffer.byteLength(JSON.stringify([name, description, input, expectedOutput]));
}
