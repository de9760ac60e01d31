import type { AnswerOf } from "../../api/client.ts";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";

type JsonObject = Record<string, unknown>;

export type TestCase = AnswerOf<"GET /v2/transformations/{id}/test-cases">["testCases"][number];

/** Content of a test case that the user edits. */
export interface TestCaseInput {
  name: string;
  input: JsonObject[];
  expectedOutput?: JsonObject[];
}

export type TestCases = ReturnType<typeof useTestCases>;

/**
 * Loads the test cases of a transformation, and returns functions that change them. `id` is undefined
 * for a library, which has none.
 */
export function useTestCases(id: string | undefined) {
  const { value, error, reload } = useResource(
    async () => (id === undefined ? [] : await listTestCases(id)),
    [id],
  );
  const params = { id: id ?? "" };
  return {
    list: value,
    error,
    reload,
    async save(body: TestCaseInput, caseId?: string) {
      const key = "PUT /v2/transformations/{id}/test-cases/{caseId}";
      if (caseId !== undefined) await client.call(key, { params: { ...params, caseId }, body });
      else await client.call("POST /v2/transformations/{id}/test-cases", { params, body });
      await reload();
    },
    async remove(caseId: string) {
      const key = "DELETE /v2/transformations/{id}/test-cases/{caseId}";
      await client.call(key, { params: { ...params, caseId } });
      await reload();
    },
  };
}

async function listTestCases(id: string): Promise<TestCase[]> {
  const key = "GET /v2/transformations/{id}/test-cases";
  return (await client.call(key, { params: { id } })).testCases;
}
