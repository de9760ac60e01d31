import type { AnswerOf } from "../../api/client.ts";
import { reloadIfChanged } from "../data/save.ts";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";

export type TestCase = AnswerOf<"GET /v2/transformations/{id}/test-cases">["testCases"][number];

/** Content of a test case. The form does not show `description`, and saves it unchanged. */
export type TestCaseInput = Pick<TestCase, "name" | "description" | "input" | "expectedOutput">;

export type TestCases = ReturnType<typeof useTestCases>;

/** Returns the value that the API's `ETag` header has for a test case. */
export const tagOf = ({ versionId }: TestCase) => `"${versionId}"`;

/**
 * Component state for the test cases of a transformation, with functions that change them. `id` is
 * undefined for a library, which has no test cases.
 */
export function useTestCases(id: string | undefined) {
  const { value, error, reload } = useResource(async () => {
    const key = "GET /v2/transformations/{id}/test-cases";
    return id === undefined ? [] : (await client.call(key, { params: { id } })).testCases;
  }, [id]);
  const params = { id: id ?? "" };
  return {
    list: value,
    error,
    reload,
    /**
     * Stores a new test case. With `caseId`, replaces the stored test case with this id instead, if
     * its ETag is still `ifMatch`.
     */
    async save(body: TestCaseInput, caseId?: string, ifMatch?: string) {
      const key = "PUT /v2/transformations/{id}/test-cases/{caseId}";
      if (caseId === undefined) {
        await client.call("POST /v2/transformations/{id}/test-cases", { params, body });
      } else await client.call(key, { params: { ...params, caseId }, body, ifMatch });
      await reload();
    },
    async remove(testCase: TestCase) {
      const key = "DELETE /v2/transformations/{id}/test-cases/{caseId}";
      const request = { params: { ...params, caseId: testCase.id }, ifMatch: tagOf(testCase) };
      await reloadIfChanged(client.call(key, request), reload);
      await reload();
    },
  };
}
